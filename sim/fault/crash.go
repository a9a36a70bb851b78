package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Crash kills an actor at one of its writes, with SIGKILL: the first that fits, unless nth, or from, every and times
// say otherwise. Writes of Leases and Events do not count, unless the kind is given. The actor is started again by
// whoever supervises it.
type Crash struct {
	Requests `json:",inline"`
	// At says whether it dies before the API server sees the write (Before, when not given), or after the write was
	// carried out and before it knows (After). Refused writes do not count then.
	At requests.Moment `json:"at,omitempty"`
	// Victim is the process that dies, when it is not the actor itself: a program of a shoot's control plane.
	Victim *Process `json:"victim,omitempty"`
}

var _ Fault = &Crash{}

func (c *Crash) harm() link.Fault {
	return requests.Crash{Match: c.match(), Turn: once(c.Turn), At: c.At}
}

func (c *Crash) victim() Process {
	if c.Victim != nil {
		return *c.Victim
	}
	return Process{Actor: c.Actor}
}

// Name is "crash(actor,target,what)".
func (c *Crash) Name() string { return c.name("crash", c.match()) }

// Traits of a crash. If the cluster of the actor that writes is down, no request comes.
func (c *Crash) Traits() Traits {
	victim := c.victim()
	t := Traits{Ability: world.CrashActors, Actor: c.Actor, Victim: &victim, Revives: victim.place(), Momentary: true}
	if victim.Cluster != "" {
		t.Ability = world.BreakPrograms
	}
	if c.Victim != nil {
		t.Place = victim.place()
		t.Place.Field = "victim"
	}
	return t
}

// Check finds unknown links and verbs, verbs that do not write, and actors that are no process.
func (c *Crash) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := c.check(path, on, c.harm())
	for i, verb := range c.Verbs {
		if slices.Contains(kubeapi.Verbs(), verb) && !slices.Contains(writing(), verb) {
			errs = append(errs, field.Invalid(path.Child("verbs").Index(i), verb,
				"does not write: must be create, update, patch, apply, delete or deletecollection"))
		}
	}
	if c.Victim != nil {
		return append(errs, c.Victim.check(path.Child("victim"), on)...)
	}
	if slices.Contains(on.Actors(), c.Actor) && !slices.Contains(on.ProcessActors(), c.Actor) {
		errs = append(errs, field.Required(path.Child("victim"), fmt.Sprintf("%q is many processes: name the one that dies",
			c.Actor)))
	}
	return errs
}

// Inject lays the crash in wait.
func (c *Crash) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	deaths := &deaths{}
	waiting, err := c.inject(ctx, w, c.harm(), func(ctx context.Context, _ kubeapi.Request) {
		// The victim takes the request, and its context, along. The heal waits for what happens here.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectTimeout)
		defer cancel()
		deaths.note(w.BreakProcess(ctx, world.Process(c.victim()), world.Kill))
	})
	if err != nil {
		return waiting, err
	}
	heal := func(ctx context.Context) error { return errors.Join(waiting.Heal(ctx), deaths.heal(ctx)) } // in this order
	return world.Injection{Heal: heal, Hits: deaths.count}, nil
}

// deaths are the kills of a crash.
type deaths struct {
	mu    sync.Mutex
	kills []world.Injection // those that came with an error, too
	died  int
	errs  []error
}

func (d *deaths) note(kill world.Injection, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.errs = append(d.errs, err)
	} else {
		d.died++
	}
	if kill.Heal != nil {
		d.kills = append(d.kills, kill)
	}
}

func (d *deaths) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.died
}

// heal waits until the victims run again, and says which could not be killed.
func (d *deaths) heal(ctx context.Context) error {
	d.mu.Lock()
	kills, errs := d.kills, d.errs
	d.mu.Unlock()
	for _, kill := range kills {
		errs = append(errs, kill.Heal(ctx))
	}
	return errors.Join(errs...)
}
