package step

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// pollInterval between two observations of the world.
const pollInterval = 200 * time.Millisecond

// sampledWithin is how long one sample may take. It is that long because a sample that is given up would be one of the
// slow ones.
const sampledWithin = 30 * time.Second

// Await observes the world until the condition is true by what is recorded of that. When it did not become so in time
// the last observation decides: the error is Unmet when it was false then, and Unknown when that could not be seen.
func (s *Environment) Await(ctx context.Context, text string, within time.Duration) error {
	e, err := expression.Compile(text)
	if err != nil {
		return fmt.Errorf("compile %q: %w", text, err)
	}
	deadline, last, known := s.Clock.Now().Add(within), "it was not observed", ""
	observed := state.NewObserved(e)
	var knownAt time.Time
	for {
		late, err := s.observe(ctx, observed, deadline)
		if err != nil {
			return err
		}
		met, why, err := observed.Met, observed.Why, observed.Unknown
		switch {
		case met:
			s.met(text, why, err)
			return nil
		case ctx.Err() != nil: // this observation was cut short; the one before it says more
			return fmt.Errorf("wait for %s: %w; %s", text, context.Cause(ctx), last)
		case err == nil && late:
			return Unmet{Why: fmt.Sprintf("not met within %s: %s; %s", within, text, why)}
		case err == nil:
			known, knownAt = why, s.Clock.Now()
		case late && known == "":
			return Unknown{Why: fmt.Sprintf("not known within %s: %s; %s", within, text, why)}
		case late:
			before := s.Clock.Since(knownAt).Round(time.Millisecond)
			return Unknown{Why: fmt.Sprintf("not known within %s: %s; %s; %s before it was not so: %s", within, text, why,
				before, known)}
		}
		last = why
		select {
		case <-ctx.Done():
		case <-s.Clock.After(pollInterval):
		}
	}
}

// observe what a condition asks for, and record what is new of it. Each observation sends its own requests: what a
// probe has followed may be older than the wait. It is late from the deadline on.
func (s *Environment) observe(ctx context.Context, known *state.Observed, deadline time.Time) (late bool, err error) {
	all := world.Observe(ctx, s.World, s.Clients, world.Ask(known.Condition))
	now := s.Clock.Now()
	late = !now.Before(deadline)
	seen, isNew, err := known.Next(all, now, late)
	if err != nil || !isNew {
		return late, err
	}
	s.record(world.Observer, seen)
	return late, known.Take(seen)
}

// sample observes the world until so many observations have what is sampled, and judges the condition once, by all of
// them together. In between nothing is judged or recorded. If there are too few in time, what is sampled is unknown.
func (s *Environment) sample(ctx context.Context, text string, samples int, within time.Duration) error {
	e, err := expression.Compile(text)
	if err != nil {
		return fmt.Errorf("compile %q: %w", text, err)
	}
	var all expression.Snapshot
	query := world.Ask(e)
	query.Within = sampledWithin
	deadline, taken := s.Clock.Now().Add(within), 0
	for {
		one := world.Observe(ctx, s.World, s.Clients, query)
		if ctx.Err() != nil {
			return fmt.Errorf("take %d samples for %s: %w; there are %d", samples, text, context.Cause(ctx), taken)
		}
		if _, _, unknown := e.Evaluate(one); unknown == nil {
			joined, has := all.Join(one)
			if all = joined; has {
				taken++
			}
		}
		if taken == samples {
			break
		}
		if !s.Clock.Now().Before(deadline) {
			all = one.WithoutSamples(fmt.Sprintf("%d of %d samples could be taken within %s", taken, samples, within))
			break
		}
		select {
		case <-ctx.Done():
		case <-s.Clock.After(pollInterval):
		}
	}
	return s.judgeOnce(e, all)
}

func (s *Environment) judgeOnce(e *expression.Expression, all expression.Snapshot) error {
	observed := state.NewObserved(e)
	last, _, err := observed.Next(all, s.Clock.Now(), true)
	if err != nil {
		return err
	}
	s.record(world.Observer, last)
	switch err := observed.Take(last); {
	case err != nil:
		return err
	case observed.Met:
		s.met(e.String(), observed.Why, observed.Unknown)
		return nil
	case observed.Unknown != nil:
		return Unknown{Why: fmt.Sprintf("not known: %s; %s", e, observed.Why)}
	}
	return Unmet{Why: fmt.Sprintf("not so: %s; %s", e, observed.Why)}
}

// met records by what it was known that a condition is true.
func (s *Environment) met(text, saw string, unknown error) {
	found := timeline.ConditionMet{That: text, Saw: saw}
	if unknown != nil {
		found.Unknown = unknown.Error()
	}
	s.record(world.Operator, found)
}

func (s *Environment) record(actor string, p timeline.Payload) {
	if s.Record != nil { // a scenario is running
		s.Record.Record(timeline.Event{Actor: actor, Payload: p})
	}
}

// patchShoot merges a patch into the Shoot in the garden.
func (s *Environment) patchShoot(ctx context.Context, shoot string, patch map[string]any) error {
	key := s.World.ShootKey(shoot)
	object := &gardencorev1beta1.Shoot{}
	object.Namespace, object.Name = key.Namespace, key.Name
	return s.patch(ctx, fmt.Sprintf("the shoot %q", shoot), object, patch)
}

// patch merges a patch into an object in the garden.
func (s *Environment) patch(ctx context.Context, what string, object client.Object, patch map[string]any) error {
	content, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("marshal the patch of %s: %w", what, err)
	}
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	if err := garden.Patch(ctx, object, client.RawPatch(types.MergePatchType, content)); err != nil {
		return fmt.Errorf("patch %s with %s: %w", what, content, err)
	}
	return nil
}
