package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// looksAtOnce bounds how many shoots are looked at at the same time in the end.
const looksAtOnce = 4

var (
	// passive verbs change nothing in a shoot, and begin nothing that does.
	passive = []string{"load", "expect", "wait", "heal"}
	// movers are the verbs after which nobody may be able to see what a shoot had before: it moves, its seed fails, it
	// goes to sleep or is deleted.
	movers = []string{"migrate", "fault", "hibernate", "delete"}
)

// lookAtObjects records the objects of a shoot once they are settled, if they are in time.
func (r *runner) lookAtObjects(ctx context.Context, shoot string, within time.Duration) {
	if r.Unwatched {
		return
	}
	seen, err := r.settledObjects(ctx, shoot, within)
	if err != nil {
		r.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: timeline.ObjectsOf(shoot), Error: err.Error()}})
		return
	}
	r.sawObjects(shoot, seen)
}

// lookBefore records the objects of the shoots before a step after which they may not be seen: of the shoot that the
// step is about, or of all, before a fault. It looks at no shoot that is on its way, or whose objects were seen already
// and have not been changed since by a step, and it delays no fault that follows another.
func (r *runner) lookBefore(ctx context.Context, spec *step.Spec) {
	verb, one := spec.Step()
	if r.Unwatched || slices.Contains(passive, verb) {
		return
	}
	r.mu.Lock()
	on, looked := maps.Clone(r.on), maps.Clone(r.looked)
	r.mu.Unlock()
	if verb != "fault" {
		maps.DeleteFunc(on, func(name string, _ bool) bool { return name != one.Subject() })
	}
	if !spec.Refused() && slices.Contains(movers, verb) && !(verb == "fault" && r.faults.AtWork()) {
		there := world.Observe(ctx, r.World, r.clients, world.Query{Shoots: slices.Collect(maps.Keys(on))}).Shoots
		var looks sync.WaitGroup
		for name, shoot := range there {
			if !on[name] || looked[name] || !atHome(shoot) {
				continue
			}
			looks.Go(func() { r.lookAtObjects(ctx, name, r.Patience.Changing) })
		}
		looks.Wait()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.looked)
}

// atHome says that a shoot is awake and well on the seed that it is bound to.
func atHome(shoot expression.Shoot) bool {
	return shoot.Exists && shoot.Healthy && !shoot.Hibernated && !shoot.Deleting && shoot.SpecSeed == shoot.Seed
}

// settledObjects looks until two looks in a row have seen the same. It does not try again where it could not read:
// the seed may just have failed, and the next step is not to wait for it.
func (r *runner) settledObjects(ctx context.Context, shoot string, within time.Duration) (timeline.ObjectsSeen, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last, err := inventory.Objects(ctx, r.connector(shoot, world.Observer))
	for err == nil {
		before := last
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("the objects of the shoot %q change at every look, for longer than %s", shoot, within)
		case <-r.Clock.After(r.Patience.Round):
		}
		last, err = inventory.Objects(ctx, r.connector(shoot, world.Observer))
		if err == nil && reflect.DeepEqual(before.Resources, last.Resources) {
			return last, nil
		}
	}
	return last, fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
}

// lastObjects looks at the objects of all shoots that are there in the end.
func (r *runner) lastObjects(ctx context.Context, on map[string]bool) {
	var looks errgroup.Group
	looks.SetLimit(looksAtOnce)
	for _, shoot := range slices.Sorted(maps.Keys(on)) {
		if !on[shoot] || r.Unwatched {
			continue
		}
		looks.Go(func() error {
			err := r.lookAtEnd(ctx, shoot)
			for again := 1; again < shootLooks && err != nil; again++ {
				err = r.lookAtEnd(ctx, shoot)
			}
			r.unseen(timeline.ObjectsOf(shoot), err)
			return nil
		})
	}
	_ = looks.Wait() // what cannot be seen is recorded
}

func (r *runner) lookAtEnd(ctx context.Context, shoot string) error {
	if world.Observe(ctx, r.World, r.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot].Hibernated {
		return fmt.Errorf("look at the objects of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience.Finale)
	defer cancel()
	seen, err := inventory.Objects(ctx, r.connector(shoot, world.Observer))
	if err != nil {
		return fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
	}
	r.sawObjects(shoot, seen)
	return nil
}

func (r *runner) sawObjects(shoot string, seen timeline.ObjectsSeen) {
	r.Journal.Record(timeline.Event{Actor: world.Observer, Subject: shoot, Payload: seen})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked[shoot] = true
}
