// Package engine runs a scenario on a landscape. It creates and populates the shoots, and runs the steps in order with
// probes beside them. It heals every fault exactly once, waits until everything has settled, and takes the last look.
// Its only result is the timeline.
//
// It judges nothing and knows no oracle. It owns lifecycle, time and chance, so that steps, faults and probes do not
// have to.
package engine

import (
	"context"
	"errors"
	"fmt"
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

// Options of Run.
type Options struct {
	Scenario *scenario.Scenario // checked, with its defaults
	World    world.World
	Journal  Journal
	Clock    clock.WithTicker
	// RandomSeed of the run's dice.
	RandomSeed uint64
	// Unwatched leaves out every probe but the loads, to measure what the run costs without them. It proves nothing then.
	Unwatched bool
	// Prepared is what Prepare has made of the landscape; nil for one without shoots.
	Prepared *Prepared
	// Patience bounds what the engine waits for by itself; the zero value takes the defaults.
	Patience Patience
}

// Patience says how long the engine waits for what is no step of the scenario.
type Patience struct {
	// SetUp bounds the creation and population of the shoots before the first step.
	SetUp time.Duration
	// Finale bounds the last looks, each.
	Finale time.Duration
	// Quiet is how long nothing may change before everything counts as settled.
	Quiet time.Duration
	// Changing is how long inventories may go on changing.
	Changing time.Duration
	// Round is longer than the pace of the slowest probe: how long to wait for one more look of all.
	Round time.Duration
}

// Stretched is the patience for a slow or busy machine: factor times as long for what is to be made or read, or goes
// away. The pace of looks, and how long nothing may change, do not depend on the machine.
func (p Patience) Stretched(factor float64) Patience {
	p.fill()
	for _, one := range []*time.Duration{&p.SetUp, &p.Finale, &p.Changing} {
		*one = time.Duration(float64(*one) * max(factor, 1))
	}
	return p
}

func (p *Patience) fill() {
	for field, value := range map[*time.Duration]time.Duration{
		&p.SetUp: 3 * time.Minute, &p.Finale: 30 * time.Second, &p.Quiet: scenario.Quiet, &p.Changing: 15 * time.Second,
		&p.Round: 1200 * time.Millisecond,
	} {
		if *field == 0 {
			*field = value
		}
	}
}

// scope is what all parts of a run work on: the landscape, its probes and faults, and what is known of the shoots.
type scope struct {
	Options
	clients   *world.Clients
	faults    *fault.Active
	observers *observers
	registry  registry
}

// runner executes one run of a scenario: it carries out the steps, and has the parts of the run do the rest.
type runner struct {
	*scope
	env *step.Environment
}

// Run a scenario. The last event is always RunEnded. An error says why the run could not be finished, and is in that
// event too. An expectation that was not met is no error.
func Run(ctx context.Context, o Options) error {
	o.Patience.fill()
	r := &runner{scope: &scope{Options: o, registry: registry{shoots: map[string]entry{}}}}
	counted := newTally(o.Journal)
	r.Journal = counted
	err := r.run(ctx)
	ended := timeline.RunEnded{Recorded: counted.counts()} // nobody records any more
	if err != nil {
		ended.Error = err.Error()
	}
	o.Journal.Record(timeline.Event{Payload: ended})
	return err
}

func (r *runner) run(ctx context.Context) error {
	var err error
	if r.clients, err = world.NewClients(r.World); err != nil {
		return err
	}
	r.faults = fault.NewActive(r.World, r.Journal)
	r.observers = newObservers(r.Clock, r.Journal)
	shoots := &shoots{scope: r.scope}
	r.env = &step.Environment{
		World: r.World, Clients: r.clients, Record: r.Journal, Clock: r.Clock, Faults: r.faults, Shoots: shoots,
	}
	shoots.env = r.env
	defer r.observers.stop()
	r.observers.beat()
	r.cost(ctx)
	if err := r.followCloud(ctx); err != nil {
		return err
	}
	if err := r.followSeeds(ctx); err != nil {
		return err
	}
	endHandOvers := handOvers{r.scope}.follow(ctx)
	defer endHandOvers()
	if err := r.followEnds(ctx); err != nil {
		return err
	}
	if err := (inventories{r.scope}).first(ctx); err != nil { // which may take long on a busy machine
		return fmt.Errorf("look around before the run: %w", err)
	}
	setUp := r.watchedFor(ctx, shoots.setUpAll)
	var steps error
	if setUp == nil {
		steps = r.steps(ctx)
	}
	// From here on everything is done even if the run has failed.
	healed := r.faults.HealAll(ctx)
	r.cost(ctx) // which shows whether a fault is left
	if stopped := interrupted(ctx); stopped != nil {
		return errors.Join(stopped, setUp, steps, healed)
	}
	if setUp != nil {
		return errors.Join(fmt.Errorf("set up the shoots: %w", setUp), healed)
	}
	settled := convergence{r.scope}.settle(ctx)
	endHandOvers()
	return errors.Join(steps, healed, settled, r.finale(ctx))
}

// steps runs the steps in order. An expectation that is not met, or cannot be checked, ends the run without an error.
func (r *runner) steps(ctx context.Context) error {
	r.cost(ctx)
	for i := range r.Scenario.Spec.Steps {
		spec := &r.Scenario.Spec.Steps[i]
		verb, one := spec.Step()
		objects{r.scope}.observeBefore(ctx, spec)
		r.record(one.Subject(), timeline.StepStarted{
			Index: i, Verb: verb, Text: one.String(), Refused: spec.Refused(), WritesPerSecond: spec.WritesPerSecond(),
			KeepAddress: spec.KeepsAddress(),
			Object:      spec.Object(),
			To:          spec.To(), Lasts: timeline.Length(spec.Lasts()),
		})
		err := one.Run(ctx, r.env)
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
		r.record(one.Subject(), ended)
		r.cost(ctx)
		switch ended.Outcome {
		case timeline.StepUnmet, timeline.StepUnknown:
			return nil
		case timeline.StepFailed:
			return fmt.Errorf("step %d, %s: %w", i+1, one, err)
		}
	}
	return nil
}

// cost records what the landscape has cost so far, if the world can measure it.
func (r *runner) cost(ctx context.Context) {
	meter, knows := r.World.(world.Meter)
	if !knows {
		return
	}
	seen, err := meter.Cost(ctx)
	if err != nil {
		r.Journal.Record(timeline.Event{Payload: timeline.Unseen{Probe: "cost", Error: err.Error()}})
		return
	}
	r.Journal.Record(timeline.Event{Actor: world.Observer, Payload: seen})
}

// sample runs a probe until its group is ended.
func (s *scope) sample(ctx context.Context, group string, p probe.Probe) {
	if !s.Unwatched {
		s.observers.sample(ctx, group, p)
	}
}

func (s *scope) record(subject string, p timeline.Payload) {
	s.Journal.Record(timeline.Event{Actor: world.Operator, Subject: subject, Payload: p})
}

// followSeeds follows what the garden says of the seeds.
func (r *runner) followSeeds(ctx context.Context) error {
	garden, err := r.clients.Cluster(landscape.Garden)
	if err != nil || r.Unwatched {
		return err
	}
	r.observers.follow(ctx, seedsGroup, &probe.Seeds{Garden: garden})
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
func (r *runner) followCloud(ctx context.Context) error {
	c := r.World.Cloud()
	if c == nil {
		return nil
	}
	ledger := &probe.Ledger{Cloud: c, Started: r.Journal.Started()}
	if _, ready, _ := timeline.First[timeline.LandscapeReady](r.Journal.Events()); ready.LedgerAt != nil {
		ledger.After = *ready.LedgerAt
	} else {
		at, err := LedgerAt(ctx, c)
		if err != nil {
			return err
		}
		ledger.After = at
	}
	r.sample(ctx, cloudGroup, ledger)
	return nil
}
