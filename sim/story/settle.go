package story

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// settle waits until every shoot is well, where it belongs and nowhere else, or the story's patience is over.
func (t *teller) settle(ctx context.Context) {
	t.record("", timeline.Settling{})
	deadline := t.Clock.Now().Add(t.Scenario.Spec.SettleWithin.Duration)
	for {
		waiting := t.unsettled(ctx)
		if len(waiting) == 0 || !t.Clock.Now().Before(deadline) || ctx.Err() != nil {
			t.record("", timeline.Settled{Converged: len(waiting) == 0, Waiting: waiting})
			return
		}
		select {
		case <-ctx.Done():
		case <-t.Clock.After(pollInterval):
		}
	}
}

// unsettled says what is not at rest yet.
func (t *teller) unsettled(ctx context.Context) []string {
	t.mu.Lock()
	on := maps.Clone(t.on)
	t.mu.Unlock()
	names := slices.Sorted(maps.Keys(on))
	now := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: names, Seeds: t.World.Seeds()})
	var waiting []string
	live := map[string]int{}
	for _, name := range names {
		shoot := now.Shoots[name]
		live[shoot.Seed]++
		switch {
		case len(shoot.Unknown) > 0:
			waiting = append(waiting, fmt.Sprintf("the shoot %s cannot be read: %s", name, reason(shoot.Unknown)))
		case !on[name] && shoot.Exists:
			waiting = append(waiting, fmt.Sprintf("the shoot %s is still there: %s", name, doing(shoot)))
		case on[name] && !shoot.Healthy:
			waiting = append(waiting, fmt.Sprintf("the shoot %s is not well: bound to %q, running on %q, %s", name, shoot.SpecSeed, shoot.Seed, doing(shoot)))
		}
	}
	for _, name := range t.World.Seeds() {
		seed := now.Seeds[name]
		if why, unknown := seed.Unknown["shoots"]; unknown {
			waiting = append(waiting, fmt.Sprintf("seed %s cannot be read: %s", name, why))
		} else if seed.Shoots != live[name] {
			waiting = append(waiting, fmt.Sprintf("seed %s holds %d control planes, %d belong there", name, seed.Shoots, live[name]))
		}
	}
	return waiting
}

func doing(shoot expression.Shoot) string {
	o := shoot.LastOperation
	text := fmt.Sprintf("%s %s %d%% (%s)", o.Type, o.State, o.Progress, o.Description)
	for _, problem := range shoot.LastErrors {
		text += ", error: " + problem
	}
	return text
}

func reason(unknown expression.Unknown) string {
	for _, field := range slices.Sorted(maps.Keys(unknown)) {
		return unknown[field]
	}
	return ""
}
