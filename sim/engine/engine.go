// Package story tells a scenario on a landscape: it creates and populates the shoots, runs the steps in order with
// probes beside them, heals every fault exactly once, lets everything come to rest, and takes the last look. All that
// it leaves is the timeline.
//
// It judges nothing and knows no oracle. It owns lifecycle, time and chance, so that steps, faults and probes do not
// have to.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// Options of Tell.
type Options struct {
	Scenario *scenario.Scenario // checked, with its defaults
	World    world.World
	Journal  Journal
	Clock    clock.WithTicker
	// RandomSeed of the story's dice.
	RandomSeed uint64
	// Unwatched leaves out every probe but the loads: what the story costs without them. It proves nothing then.
	Unwatched bool
	// Patience bounds what the engine waits for by itself; the zero value takes the defaults.
	Patience Patience
}

// Patience says how long the engine waits for what is no step of the story.
type Patience struct {
	// SetUp bounds the creation and population of the shoots before the first step.
	SetUp time.Duration
	// Finale bounds the last looks, each.
	Finale time.Duration
	// Rest is how long nothing may move for everything to have come to rest.
	Rest time.Duration
	// Still is how long inventories may go on changing.
	Changing time.Duration
	// Round is longer than the pace of the slowest probe: how long to wait for one more look of all.
	Round time.Duration
}

// Stretched is what a slow or busy machine is waited for: factor times as long for what is to be made or read, or goes
// away. The pace of looks, and how long nothing may move, are no matter of the machine.
func (p Patience) Stretched(factor float64) Patience {
	p.fill()
	for _, one := range []*time.Duration{&p.SetUp, &p.Finale, &p.Changing} {
		*one = time.Duration(float64(*one) * max(factor, 1))
	}
	return p
}

func (p *Patience) fill() {
	for field, value := range map[*time.Duration]time.Duration{
		&p.SetUp: 3 * time.Minute, &p.Finale: 30 * time.Second, &p.Rest: scenario.Rest, &p.Changing: 15 * time.Second,
		&p.Round: 1200 * time.Millisecond,
	} {
		if *field == 0 {
			*field = value
		}
	}
}

// runner is one story being told.
type runner struct {
	Options
	clients   *world.Clients
	faults    *fault.Active
	observers *observers
	env       *step.Environment

	mu     sync.Mutex
	keys   map[string]*probe.Keys // of the loads, by shoot
	ids    map[string]string      // technical ids, by shoot
	on     map[string]bool        // shoots on the stage; false once dismissed
	looked map[string]bool        // shoots whose objects were seen since the last step that changes something
}

// Tell a story. It ends with a RunEnded event, however it ends; an error says why it could not be told to its end, and
// stands in that event too. An expectation that was not met is no error.
func Run(ctx context.Context, o Options) error {
	o.Patience.fill()
	t := &runner{Options: o, keys: map[string]*probe.Keys{}, ids: map[string]string{}, on: map[string]bool{},
		looked: map[string]bool{}}
	counted := newTally(o.Journal)
	t.Journal = counted
	err := t.run(ctx)
	ended := timeline.RunEnded{Recorded: counted.counts()} // nobody records any more
	if err != nil {
		ended.Error = err.Error()
	}
	o.Journal.Record(timeline.Event{Payload: ended})
	return err
}

func (t *runner) run(ctx context.Context) error {
	var err error
	if t.clients, err = world.NewClients(t.World); err != nil {
		return err
	}
	t.faults = fault.NewActive(t.World, t.Journal)
	t.observers = newObservers(t.Clock, t.Journal)
	t.env = &step.Environment{World: t.World, Clients: t.clients, Record: t.Journal, Clock: t.Clock, Faults: t.faults, Shoots: t}
	defer t.observers.stop()
	t.observers.beat()
	t.cost(ctx)
	if err := t.followCloud(ctx); err != nil {
		return err
	}
	if err := t.followSeeds(ctx); err != nil {
		return err
	}
	endHandOvers := t.followHandOvers(ctx)
	defer endHandOvers()
	if err := t.followEnds(ctx); err != nil {
		return err
	}
	if err := t.firstInventories(ctx); err != nil { // which may take long on a busy machine
		return fmt.Errorf("look around before the run: %w", err)
	}
	raised := t.watchedFor(ctx, t.setUpAll)
	var told error
	if raised == nil {
		told = t.steps(ctx)
	}
	// From here on nothing is left out because the story has failed.
	healed := t.faults.HealAll(ctx)
	t.cost(ctx) // which tells whether a fault is left
	if stopped := interrupted(ctx); stopped != nil {
		return errors.Join(stopped, raised, told, healed)
	}
	if raised != nil {
		return errors.Join(fmt.Errorf("set the stage: %w", raised), healed)
	}
	settled := t.settle(ctx)
	endHandOvers()
	return errors.Join(told, healed, settled, t.finale(ctx))
}

// steps runs the steps in order. Expectations that are not met, or of which nobody can tell, end the story without an
// error.
func (t *runner) steps(ctx context.Context) error {
	t.cost(ctx)
	for i := range t.Scenario.Spec.Steps {
		spec := &t.Scenario.Spec.Steps[i]
		verb, one := spec.Step()
		t.lookBefore(ctx, spec)
		t.record(one.Subject(), timeline.StepStarted{
			Index: i, Verb: verb, Text: one.String(), Refused: spec.Refused(), WritesPerSecond: spec.WritesPerSecond(),
			KeepAddress: spec.KeepsAddress(),
			Object:      spec.Object(),
			To:          spec.To(), Lasts: timeline.Length(spec.Lasts()),
		})
		err := one.Run(ctx, t.env)
		ended := timeline.StepEnded{Index: i, Verb: verb, Text: one.String(), Outcome: timeline.StepDone}
		unmet, unknown := step.Unmet{}, step.Unknown{}
		switch {
		case errors.As(err, &unmet):
			ended.Outcome, ended.Message = timeline.StepUnmet, unmet.Why
		case errors.As(err, &unknown):
			ended.Outcome, ended.Message = timeline.StepUnknown, unknown.Why
		case err != nil:
			ended.Outcome, ended.Message = timeline.StepFailed, err.Error()
		}
		t.record(one.Subject(), ended)
		t.cost(ctx)
		switch ended.Outcome {
		case timeline.StepUnmet, timeline.StepUnknown:
			return nil
		case timeline.StepFailed:
			return fmt.Errorf("step %d, %s: %w", i+1, one, err)
		}
	}
	return nil
}

// cost notes what the landscape has cost so far, between steps, if it knows.
func (t *runner) cost(ctx context.Context) {
	meter, knows := t.World.(world.Meter)
	if !knows {
		return
	}
	seen, err := meter.Cost(ctx)
	if err != nil {
		t.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: "cost", Error: err.Error()}})
		return
	}
	t.Journal.Record(timeline.Event{Actor: world.Observer, Payload: seen})
}

// sample lets a probe look on until its group is ended.
func (t *runner) sample(ctx context.Context, group string, p probe.Probe) {
	if !t.Unwatched {
		t.observers.sample(ctx, group, p)
	}
}

func (t *runner) record(subject string, p timeline.Payload) {
	t.Journal.Record(timeline.Event{Actor: world.Operator, Subject: subject, Payload: p})
}

// followSeeds follows what the garden says of the seeds.
func (t *runner) followSeeds(ctx context.Context) error {
	garden, err := t.clients.Cluster(landscape.Garden)
	if err != nil || t.Unwatched {
		return err
	}
	t.observers.follow(ctx, seedsGroup, &probe.Seeds{Garden: garden})
	return nil
}

// LedgerAt is the number of the last entry of the cloud's ledger: what happens from now on stands behind it.
func LedgerAt(ctx context.Context, ledger probe.LedgerReader) (int64, error) {
	entries, err := ledger.Ledger(ctx, cloudQuery)
	if err != nil {
		return 0, fmt.Errorf("read the cloud's ledger: %w", err)
	}
	if len(entries) == 0 {
		return 0, nil
	}
	return entries[len(entries)-1].Seq, nil
}

// followCloud starts behind the entry that the record names as the last one before the run: earlier ones are of earlier
// runs.
func (t *runner) followCloud(ctx context.Context) error {
	c := t.World.Cloud()
	if c == nil {
		return nil
	}
	ledger := &probe.Ledger{Cloud: c, Started: t.Journal.Started()}
	if _, ready, _ := timeline.First[timeline.LandscapeReady](t.Journal.Events()); ready.LedgerAt != nil {
		ledger.After = *ready.LedgerAt
	} else {
		at, err := LedgerAt(ctx, c)
		if err != nil {
			return err
		}
		ledger.After = at
	}
	t.sample(ctx, cloudGroup, ledger)
	return nil
}

// setUpAll brings the shoots onto the stage that are there before the first step.
func (t *runner) setUpAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience.SetUp, fmt.Errorf("the shoots were not ready within %s",
		t.Patience.SetUp))
	defer cancel()
	later := step.Later(t.Scenario.Spec.Steps)
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, shoot := range t.Scenario.Spec.Landscape.Shoots {
		if later[shoot.Name] {
			continue
		}
		all.Go(func() {
			if err := t.setUp(ctx, shoot.Name); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (t *runner) shoot(name string) (landscape.Shoot, error) {
	shoot, known := t.Scenario.Spec.Landscape.Shoot(name)
	if !known {
		return shoot, fmt.Errorf("find the shoot %q: the landscape has none of this name", name)
	}
	return shoot, nil
}
