package story

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// How often the end of the cloud's ledger, and of what is seen of a shoot, is asked for: a machine may be too busy for one answer.
const (
	ledgerLooks = 5
	shootLooks  = 3
)

var cloudQuery = cloud.LedgerQuery{}

// finale ends the loads, reads what is there in the end, and has every probe look once more. What cannot be read is
// recorded as unseen: the oracles say whether they need it.
func (t *teller) finale(ctx context.Context) error {
	t.mu.Lock()
	on := maps.Clone(t.on)
	t.mu.Unlock()
	shoots := slices.Sorted(maps.Keys(on))
	for _, shoot := range shoots {
		t.crew.end(loadGroup(shoot))
	}
	t.lastLooks(ctx)
	for _, shoot := range shoots {
		if on[shoot] {
			t.unseen("data of "+shoot, t.readData(ctx, shoot))
		}
	}
	t.unseen("inventory", t.lastInventories(ctx))
	for _, shoot := range shoots {
		t.crew.lastLook(ctx, shoot, shootLooks)
		t.crew.lastLook(ctx, stateGroup(shoot), shootLooks)
	}
	t.crew.lastLook(ctx, seedsGroup, shootLooks)
	t.crew.lastLook(ctx, cloudGroup, ledgerLooks)
	return nil
}

func (t *teller) unseen(what string, err error) {
	if err != nil {
		t.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: what, Error: err.Error(), Final: true}})
	}
}

// lastLooks waits for one more round of samples, so that what happened before the end of the loads has been seen.
func (t *teller) lastLooks(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-t.Clock.After(t.Patience.Round):
	}
}

func (t *teller) readData(ctx context.Context, shoot string) error {
	seen := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot]
	if seen.Hibernated {
		return fmt.Errorf("read the data of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	return probe.Data(ctx, shoot, t.connector(shoot, world.Observer), t.Journal)
}

// lastInventories takes inventories until what mentions a shoot, and the folders, do not change any more, and
// records the last, which is never the first that succeeded.
func (t *teller) lastInventories(ctx context.Context) error {
	began := t.Clock.Now()
	var seen time.Time // when the first of the looks was done that succeeded one after the other
	var before []string
	for {
		memory := timeline.NewJournal(clock.RealClock{}, nil)
		err := t.takeInventories(ctx, timeline.After, memory)
		now := changing(memory.Events())
		var enough bool
		switch {
		case err != nil: // one look may take Finale
			before, enough = nil, t.Clock.Since(began) >= 2*t.Patience.Finale
		case before == nil:
			before, seen = now, t.Clock.Now()
		default:
			enough = slices.Equal(before, now) || t.Clock.Since(seen) >= t.Patience.Still
			before = now
		}
		if enough || ctx.Err() != nil {
			t.keep(memory)
			return err
		}
		select {
		case <-ctx.Done():
		case <-t.Clock.After(t.Patience.Round):
		}
	}
}

// changing lists what may still be on its way out: what mentions a shoot, and where, and folders, which go a moment after
// their pods; with them whether their pods were there, so that a folder is without its pod in two looks before it counts.
func changing(events []timeline.Event) []string {
	found := []string{}
	for e, p := range timeline.Of[timeline.InventorySeen](events) {
		there := map[string]bool{}
		for _, item := range p.Items {
			there[item.UID] = true
		}
		for _, item := range p.Items {
			if len(item.Mentions) > 0 || item.Class == "folder" {
				found = append(found, fmt.Sprintf("%s/%s/%s/%s owned %t", e.Subject, item.Class, item.Namespace, item.Name, there[item.Owner]))
			}
		}
	}
	slices.Sort(found)
	return found
}

// firstInventories are taken until all is seen: a request that a busy machine does not answer in time is made again.
func (t *teller) firstInventories(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience.Raise, fmt.Errorf("not done within %s", t.Patience.Raise))
	defer cancel()
	return t.poll(ctx, "the inventories", func(ctx context.Context) (bool, error) {
		memory := timeline.NewJournal(clock.RealClock{}, nil)
		err := t.takeInventories(ctx, timeline.Before, memory)
		if err == nil {
			t.keep(memory)
		}
		return err == nil, err
	})
}

// keep what was seen, as seen now.
func (t *teller) keep(memory *timeline.Journal) {
	for _, e := range memory.Events() {
		t.Journal.Record(e)
	}
}

// takeInventories of every seed, and of every other place that the world knows of.
func (t *teller) takeInventories(ctx context.Context, when string, to timeline.Recorder) error {
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	t.mu.Lock()
	ids := slices.Sorted(maps.Values(t.ids))
	t.mu.Unlock()
	belongings := map[string][]timeline.Item{}
	var errs []error
	if keeper, knows := t.World.(world.Inventory); knows {
		var err error
		belongings, err = keeper.Belongings(ctx)
		errs = append(errs, err)
	}
	for _, seed := range t.World.Seeds() {
		config, err := t.World.Connect(seed)
		if err == nil {
			err = probe.Inventory(ctx, seed, config, when, ids, belongings[seed], to)
		}
		errs = append(errs, err)
		delete(belongings, seed)
	}
	for _, place := range slices.Sorted(maps.Keys(belongings)) {
		probe.Belongings(place, when, ids, belongings[place], to)
	}
	return errors.Join(errs...)
}
