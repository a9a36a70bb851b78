package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/probe/load"
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
func (r *runner) finale(ctx context.Context) error {
	known := r.registry.all()
	shoots := slices.Sorted(maps.Keys(known))
	for _, shoot := range shoots {
		r.observers.end(loadGroup(shoot))
	}
	r.lastLooks(ctx)
	for _, shoot := range shoots {
		if known[shoot].on {
			r.unseen("data of "+shoot, r.readData(ctx, shoot))
			r.unseen("number of keys of "+shoot, r.countData(ctx, shoot))
		}
	}
	objects{r.scope}.last(ctx, known)
	r.unseen(timeline.Inventory, inventories{r.scope}.last(ctx))
	for _, shoot := range shoots {
		r.observers.lastLook(ctx, shoot, shootLooks)
		r.observers.lastLook(ctx, stateGroup(shoot), shootLooks)
	}
	r.observers.lastLook(ctx, seedsGroup, shootLooks)
	r.observers.lastLook(ctx, cloudGroup, ledgerLooks)
	r.cost(ctx)
	return nil
}

func (s *scope) unseen(what string, err error) {
	if err != nil {
		s.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: what, Error: err.Error(), Final: true}})
	}
}

// lastLooks waits for one more round of samples, so that what happened before the end of the loads has been seen.
func (r *runner) lastLooks(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.Clock.After(r.Patience.Round):
	}
}

func (r *runner) readData(ctx context.Context, shoot string) error {
	seen := world.Observe(ctx, r.World, r.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot]
	if seen.Hibernated {
		return fmt.Errorf("read the data of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience.Finale)
	defer cancel()
	return load.Data(ctx, shoot, r.connector(shoot, world.Observer), r.Journal)
}

// countData of a shoot whose data was read, by another way.
func (r *runner) countData(ctx context.Context, shoot string) error {
	if !slices.Contains(timeline.Subjects[timeline.DataSeen](r.Journal.Events()), shoot) {
		return nil // which is said already
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience.Finale)
	defer cancel()
	return load.Count(ctx, shoot, r.connector(shoot, world.User), r.Journal)
}
