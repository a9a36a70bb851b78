package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// How often the end of the cloud's ledger, and of what is seen of a shoot, is asked for: a machine may be too busy for
// one answer.
const (
	ledgerLooks = 5
	shootLooks  = 3
)

var cloudQuery = cloud.LedgerQuery{}

// finale ends the loads, reads what is there in the end, and has every probe look once more. What cannot be read is
// recorded as unseen: the oracles say whether they need it.
func (t *runner) finale(ctx context.Context) error {
	t.mu.Lock()
	on := maps.Clone(t.on)
	t.mu.Unlock()
	shoots := slices.Sorted(maps.Keys(on))
	for _, shoot := range shoots {
		t.observers.end(loadGroup(shoot))
	}
	t.lastLooks(ctx)
	for _, shoot := range shoots {
		if on[shoot] {
			t.unseen("data of "+shoot, t.readData(ctx, shoot))
			t.unseen("number of keys of "+shoot, t.countData(ctx, shoot))
		}
	}
	t.lastObjects(ctx, on)
	t.unseen(timeline.Inventory, t.lastInventories(ctx))
	for _, shoot := range shoots {
		t.observers.lastLook(ctx, shoot, shootLooks)
		t.observers.lastLook(ctx, stateGroup(shoot), shootLooks)
	}
	t.observers.lastLook(ctx, seedsGroup, shootLooks)
	t.observers.lastLook(ctx, cloudGroup, ledgerLooks)
	return nil
}

func (t *runner) unseen(what string, err error) {
	if err != nil {
		t.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: what, Error: err.Error(), Final: true}})
	}
}

// lastLooks waits for one more round of samples, so that what happened before the end of the loads has been seen.
func (t *runner) lastLooks(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-t.Clock.After(t.Patience.Round):
	}
}

func (t *runner) readData(ctx context.Context, shoot string) error {
	seen := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot]
	if seen.Hibernated {
		return fmt.Errorf("read the data of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	return probe.Data(ctx, shoot, t.connector(shoot, world.Observer), t.Journal)
}

// countData of a shoot whose data was read, by another way.
func (t *runner) countData(ctx context.Context, shoot string) error {
	read := false
	for e := range timeline.Of[timeline.DataSeen](t.Journal.Events()) {
		read = read || e.Subject == shoot
	}
	if !read {
		return nil // which is said already
	}
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	return probe.Count(ctx, shoot, t.connector(shoot, world.User), t.Journal)
}
