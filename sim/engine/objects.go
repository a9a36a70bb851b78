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
	"github.com/transplant-sim/transplant/sim/probe"
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
func (t *runner) lookAtObjects(ctx context.Context, shoot string, within time.Duration) {
	if t.Unwatched {
		return
	}
	seen, err := t.settledObjects(ctx, shoot, within)
	if err != nil {
		t.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: timeline.ObjectsOf(shoot), Error: err.Error()}})
		return
	}
	t.sawObjects(shoot, seen)
}

// lookBefore records the objects of the shoots before a step after which they may not be seen: of the shoot that the
// step is about, or of all, before a fault. It looks at no shoot that is on its way, or whose objects were seen already
// and have not been changed since by a step, and it delays no fault that follows another.
func (t *runner) lookBefore(ctx context.Context, spec *step.Spec) {
	verb, one := spec.Step()
	if t.Unwatched || slices.Contains(passive, verb) {
		return
	}
	t.mu.Lock()
	on, looked := maps.Clone(t.on), maps.Clone(t.looked)
	t.mu.Unlock()
	if verb != "fault" {
		maps.DeleteFunc(on, func(name string, _ bool) bool { return name != one.Subject() })
	}
	if !spec.Refused() && slices.Contains(movers, verb) && !(verb == "fault" && t.faults.AtWork()) {
		there := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: slices.Collect(maps.Keys(on))}).Shoots
		var looks sync.WaitGroup
		for name, shoot := range there {
			if !on[name] || looked[name] || !atHome(shoot) {
				continue
			}
			looks.Go(func() { t.lookAtObjects(ctx, name, t.Patience.Changing) })
		}
		looks.Wait()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.looked)
}

// atHome says that a shoot is awake and well on the seed that it is bound to.
func atHome(shoot expression.Shoot) bool {
	return shoot.Exists && shoot.Healthy && !shoot.Hibernated && !shoot.Deleting && shoot.SpecSeed == shoot.Seed
}

// settledObjects looks until two looks in a row have seen the same. It does not try again where it could not read:
// the seed may just have failed, and the next step is not to wait for it.
func (t *runner) settledObjects(ctx context.Context, shoot string, within time.Duration) (timeline.ObjectsSeen, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last, err := probe.Objects(ctx, t.connector(shoot, world.Observer))
	for err == nil {
		before := last
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("the objects of the shoot %q change at every look, for longer than %s", shoot, within)
		case <-t.Clock.After(t.Patience.Round):
		}
		last, err = probe.Objects(ctx, t.connector(shoot, world.Observer))
		if err == nil && reflect.DeepEqual(before.Resources, last.Resources) {
			return last, nil
		}
	}
	return last, fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
}

// lastObjects looks at the objects of all shoots that are there in the end.
func (t *runner) lastObjects(ctx context.Context, on map[string]bool) {
	var looks errgroup.Group
	looks.SetLimit(looksAtOnce)
	for _, shoot := range slices.Sorted(maps.Keys(on)) {
		if !on[shoot] || t.Unwatched {
			continue
		}
		looks.Go(func() error {
			err := t.lookAtEnd(ctx, shoot)
			for again := 1; again < shootLooks && err != nil; again++ {
				err = t.lookAtEnd(ctx, shoot)
			}
			t.unseen(timeline.ObjectsOf(shoot), err)
			return nil
		})
	}
	_ = looks.Wait() // what cannot be seen is recorded
}

func (t *runner) lookAtEnd(ctx context.Context, shoot string) error {
	if world.Observe(ctx, t.World, t.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot].Hibernated {
		return fmt.Errorf("look at the objects of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	seen, err := probe.Objects(ctx, t.connector(shoot, world.Observer))
	if err != nil {
		return fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
	}
	t.sawObjects(shoot, seen)
	return nil
}

func (t *runner) sawObjects(shoot string, seen timeline.ObjectsSeen) {
	t.Journal.Record(timeline.Event{Actor: world.Observer, Subject: shoot, Payload: seen})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked[shoot] = true
}
