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

// objects of shoots are looked at before what may hide or change them, and at the end.
type objects struct{ *scope }

// observe records the objects of a shoot once they are settled, if they are in time.
func (o objects) observe(ctx context.Context, shoot string, within time.Duration) {
	if o.Unwatched {
		return
	}
	seen, err := o.settled(ctx, shoot, within)
	if err != nil {
		o.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: timeline.ObjectsOf(shoot), Error: err.Error()}})
		return
	}
	o.saw(shoot, seen)
}

// observeBefore records the objects of the shoots before a step after which they may not be seen: of the shoot that the
// step is about, or of all, before a fault. It looks at no shoot that is on its way, or whose objects were seen already
// and have not been changed since by a step, and it delays no fault that follows another.
func (o objects) observeBefore(ctx context.Context, spec *step.Spec) {
	verb, one := spec.Step()
	if o.Unwatched || slices.Contains(passive, verb) {
		return
	}
	about := o.registry.all()
	if verb != "fault" {
		maps.DeleteFunc(about, func(name string, _ entry) bool { return name != one.Subject() })
	}
	if !spec.Refused() && slices.Contains(movers, verb) && !(verb == "fault" && o.faults.AtWork()) {
		there := world.Observe(ctx, o.World, o.clients, world.Query{Shoots: slices.Collect(maps.Keys(about))}).Shoots
		var looks sync.WaitGroup
		for name, shoot := range there {
			if !about[name].on || about[name].looked || !atHome(shoot) {
				continue
			}
			looks.Go(func() { o.observe(ctx, name, o.Patience.Changing) })
		}
		looks.Wait()
	}
	for name := range o.registry.all() {
		o.registry.change(name, func(e *entry) { e.looked = false })
	}
}

// atHome says that a shoot is awake and well on the seed that it is bound to.
func atHome(shoot expression.Shoot) bool {
	return shoot.Exists && shoot.Healthy && !shoot.Hibernated && !shoot.Deleting && shoot.SpecSeed == shoot.Seed
}

// settled looks until two looks in a row have seen the same. It does not try again where it could not read:
// the seed may just have failed, and the next step is not to wait for it.
func (o objects) settled(ctx context.Context, shoot string, within time.Duration) (timeline.ObjectsSeen, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last, err := inventory.Objects(ctx, o.connector(shoot, world.Observer))
	for err == nil {
		before := last
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("the objects of the shoot %q change at every look, for longer than %s", shoot, within)
		case <-o.Clock.After(o.Patience.Round):
		}
		last, err = inventory.Objects(ctx, o.connector(shoot, world.Observer))
		if err == nil && reflect.DeepEqual(before.Resources, last.Resources) {
			return last, nil
		}
	}
	return last, fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
}

// last looks at the objects of all shoots that are there in the end.
func (o objects) last(ctx context.Context, shoots map[string]entry) {
	var looks errgroup.Group
	looks.SetLimit(looksAtOnce)
	for _, shoot := range slices.Sorted(maps.Keys(shoots)) {
		if !shoots[shoot].on || o.Unwatched {
			continue
		}
		looks.Go(func() error {
			err := o.observeAtEnd(ctx, shoot)
			for again := 1; again < shootLooks && err != nil; again++ {
				err = o.observeAtEnd(ctx, shoot)
			}
			o.unseen(timeline.ObjectsOf(shoot), err)
			return nil
		})
	}
	_ = looks.Wait() // what cannot be seen is recorded
}

func (o objects) observeAtEnd(ctx context.Context, shoot string) error {
	if world.Observe(ctx, o.World, o.clients, world.Query{Shoots: []string{shoot}}).Shoots[shoot].Hibernated {
		return fmt.Errorf("look at the objects of the shoot %q: it sleeps", shoot)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Patience.Finale)
	defer cancel()
	seen, err := inventory.Objects(ctx, o.connector(shoot, world.Observer))
	if err != nil {
		return fmt.Errorf("look at the objects of the shoot %q: %w", shoot, err)
	}
	o.saw(shoot, seen)
	return nil
}

func (o objects) saw(shoot string, seen timeline.ObjectsSeen) {
	o.Journal.Record(timeline.Event{Actor: world.Observer, Subject: shoot, Payload: seen})
	o.registry.change(shoot, func(e *entry) { e.looked = true })
}
