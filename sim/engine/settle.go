package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
	"github.com/transplant-sim/transplant/sim/world"
)

// tellUnrest is how long nobody is told meanwhile what is not at rest.
const tellUnrest = 10 * time.Second

// settle waits until every shoot is well, where it belongs and nowhere else, and stays so for a while in which nobody
// writes anything, or the story's patience is over. An error says that it was interrupted.
func (t *runner) settle(ctx context.Context) error {
	t.record("", timeline.Settling{Quiet: timeline.Length(t.Patience.Rest)})
	deadline, tell := t.Clock.Now().Add(t.Scenario.Spec.SettleWithin.Duration), t.Clock.Now().Add(tellUnrest)
	var last unrest
	var lastAt time.Time
	for {
		since := timeline.Moment(t.Journal.Now())
		seen := t.unsettled(ctx)
		if seen.atRest() {
			last = unrest{} // what was not well is
			seen = t.restless(ctx)
		}
		if seen.atRest() {
			t.record("", timeline.Settled{Converged: true, Since: since, Objects: seen.objects})
			return nil
		}
		if len(seen.unknown) == 0 {
			last, lastAt = seen, t.Clock.Now()
		}
		if !t.Clock.Now().Before(deadline) || ctx.Err() != nil {
			// Where the last look is blind, what was not at rest in the one before it may have been too late to be so for long
			// enough.
			if left := deadline.Sub(lastAt); len(seen.moves) == 0 && left < t.Patience.Rest {
				seen.moves = last.before(left)
			}
			t.record("", timeline.Settled{Waiting: seen.moves, Unknown: seen.unknown})
			return interrupted(ctx)
		}
		if now := t.Clock.Now(); !now.Before(tell) {
			t.record("", timeline.Note{Text: wording.Short("not at rest yet: " + seen.String())})
			tell = now.Add(tellUnrest)
		}
		select {
		case <-ctx.Done():
		case <-t.Clock.After(pollInterval):
		}
	}
}

// unrest is what is not at rest, and of what nobody could see whether it is.
type unrest struct {
	moves, unknown []string
	objects        int // that were looked at for as long as nothing may move
}

func (u unrest) atRest() bool { return len(u.moves)+len(u.unknown) == 0 }

// before tells what moved when all could be seen for the last time.
func (u unrest) before(left time.Duration) (moves []string) {
	for _, what := range u.moves {
		moves = append(moves, fmt.Sprintf("%s, when it could be seen last, %s before the deadline", what,
			left.Round(time.Millisecond)))
	}
	return moves
}

// unrestOf a look that has failed: somebody who is known not to be there is not at rest, and of all else nothing is
// known.
func unrestOf(err error) unrest {
	if missing := (world.NoAPIServer{}); errors.As(err, &missing) {
		return unrest{moves: []string{err.Error()}}
	}
	return unrest{unknown: []string{err.Error()}}
}

// String is the first of it, and how much more there is.
func (u unrest) String() string {
	all := slices.Concat(u.moves, u.unknown)
	if len(all) > 1 {
		return fmt.Sprintf("%s, and %d more", all[0], len(all)-1)
	}
	return strings.Join(all, "")
}

// interrupted says that the story is not to be told on, if that is so.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the story was interrupted: %w", context.Cause(ctx))
}

// mostMoved bounds what is told one by one.
const mostMoved = 10

// restless says what moves although everything seems to be done: what is written, heartbeats and the story's own loads
// left out, and what is no longer at rest.
func (t *runner) restless(ctx context.Context) unrest {
	before, err := t.versions(ctx)
	if err != nil {
		return unrestOf(err)
	}
	select {
	case <-ctx.Done():
		return unrest{unknown: []string{context.Cause(ctx).Error()}}
	case <-t.Clock.After(t.Patience.Rest):
	}
	now, err := t.versions(ctx)
	if err != nil {
		return unrestOf(err)
	}
	moved := before.Moved(now)
	if more := len(moved) - mostMoved; more > 0 {
		moved = append(moved[:mostMoved], fmt.Sprintf("and %d more move", more))
	}
	seen := t.unsettled(ctx)
	seen.moves, seen.objects = append(moved, seen.moves...), len(now)
	return seen
}

// versions of what is in the garden, the seeds and the shoots that are awake.
func (t *runner) versions(ctx context.Context) (probe.Versions, error) {
	all := probe.Versions{}
	for _, cluster := range append([]string{landscape.Garden}, t.World.Seeds()...) {
		config, err := t.World.Connect(cluster)
		if err == nil {
			err = t.look(ctx, all, cluster, config)
		}
		if err != nil {
			return nil, fmt.Errorf("look at what moves in %q: %w", cluster, err)
		}
	}
	t.mu.Lock()
	on := maps.Clone(t.on)
	t.mu.Unlock()
	names := slices.Sorted(maps.Keys(on))
	shoots := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: names}).Shoots
	for _, name := range names {
		if !on[name] || shoots[name].Hibernated {
			continue
		}
		config, err := t.World.ConnectShoot(ctx, name, world.Observer)
		if err == nil {
			err = t.look(ctx, all, name, config)
		}
		if err != nil {
			return nil, fmt.Errorf("look at what moves in the shoot %q: %w", name, err)
		}
	}
	return all, nil
}

// look at one cluster. Where loads write, everything moves.
func (t *runner) look(ctx context.Context, into probe.Versions, cluster string, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	return into.Add(ctx, cluster, config, probe.Namespace)
}

// unsettled says what is not at rest yet.
func (t *runner) unsettled(ctx context.Context) (seen unrest) {
	t.mu.Lock()
	on := maps.Clone(t.on)
	t.mu.Unlock()
	names := slices.Sorted(maps.Keys(on))
	now := world.Observe(ctx, t.World, t.clients, world.Query{Shoots: names, Seeds: t.World.Seeds()})
	live, blind := map[string]int{}, false
	for _, name := range names {
		shoot := now.Shoots[name]
		live[shoot.Seed]++
		switch {
		case len(shoot.Unknown) > 0:
			blind = true
			seen.unknown = append(seen.unknown, fmt.Sprintf("the shoot %s cannot be read: %s", name, reason(shoot.Unknown)))
		case !on[name] && shoot.Exists:
			seen.moves = append(seen.moves, fmt.Sprintf("the shoot %s is still there: %s", name, shoot.Doing()))
		case on[name] && !shoot.Exists:
			seen.moves = append(seen.moves, fmt.Sprintf("there is no shoot %s", name))
		case on[name] && !shoot.Healthy:
			seen.moves = append(seen.moves, fmt.Sprintf("the shoot %s is not healthy: %s", name, shoot.Doing()))
		}
	}
	for _, name := range t.World.Seeds() {
		seed := now.Seeds[name]
		if why, unknown := seed.Unknown["shoots"]; unknown {
			seen.unknown = append(seen.unknown, fmt.Sprintf("seed %s cannot be read: %s", name, why))
		} else if seed.Shoots != live[name] && !blind { // where a shoot is that cannot be read is not known either
			seen.moves = append(seen.moves, fmt.Sprintf("seed %s holds %d control planes, %d belong there", name, seed.Shoots,
				live[name]))
		}
	}
	return seen
}

func reason(unknown expression.Unknown) string {
	for _, field := range slices.Sorted(maps.Keys(unknown)) {
		return unknown[field]
	}
	return ""
}
