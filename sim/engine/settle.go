package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/wording"
	"github.com/transplant-sim/transplant/sim/world"
)

// noteInterval is how often the timeline says what has not settled yet.
const noteInterval = 10 * time.Second

// convergence is what a run waits for after its last step.
type convergence struct{ *scope }

// settle waits until every shoot is well, where it belongs and nowhere else, and stays so for a while in which nobody
// writes anything. It gives up after the scenario's settleWithin. An error says that the run was interrupted.
func (c convergence) settle(ctx context.Context) error {
	c.record("", timeline.Settling{Quiet: timeline.Length(c.Patience.Quiet)})
	deadline := c.Clock.Now().Add(c.Scenario.Spec.SettleWithin.Duration)
	nextNote := c.Clock.Now().Add(noteInterval)
	var last pending
	var lastAt time.Time
	for {
		since := timeline.Moment(c.Journal.Now())
		seen := c.unsettled(ctx)
		if seen.isSettled() {
			last = pending{} // what was not well is well now
			seen = c.moving(ctx)
		}
		if seen.isSettled() {
			c.record("", timeline.Settled{Converged: true, Since: since, Objects: seen.objects})
			return nil
		}
		if len(seen.unknown) == 0 {
			last, lastAt = seen, c.Clock.Now()
		}
		if !c.Clock.Now().Before(deadline) || ctx.Err() != nil {
			// The last look may be blind. Then what the look before it saw moving counts, if too little time was left for it
			// to settle.
			if left := deadline.Sub(lastAt); len(seen.moves) == 0 && left < c.Patience.Quiet {
				seen.moves = last.before(left)
			}
			c.record("", timeline.Settled{Waiting: seen.moves, Unknown: seen.unknown})
			return interrupted(ctx)
		}
		if now := c.Clock.Now(); !now.Before(nextNote) {
			c.record("", timeline.Note{Text: wording.Short("not settled yet: " + seen.String())})
			nextNote = now.Add(noteInterval)
		}
		select {
		case <-ctx.Done():
		case <-c.Clock.After(pollInterval):
		}
	}
}

// pending is what has not settled, and what could not be checked.
type pending struct {
	moves, unknown []string
	objects        int // that were looked at for as long as nothing may move
}

func (p pending) isSettled() bool { return len(p.moves)+len(p.unknown) == 0 }

// before says what moved when all could be seen for the last time.
func (p pending) before(left time.Duration) (moves []string) {
	for _, what := range p.moves {
		moves = append(moves, fmt.Sprintf("%s, when it could be seen last, %s before the deadline", what,
			left.Round(time.Millisecond)))
	}
	return moves
}

// pendingAfter says what a failed look means: a missing API server has not settled, every other failure says nothing.
func pendingAfter(err error) pending {
	if missing := (world.NoAPIServer{}); errors.As(err, &missing) {
		return pending{moves: []string{err.Error()}}
	}
	return pending{unknown: []string{err.Error()}}
}

// String is the first of it, and how much more there is.
func (p pending) String() string {
	all := slices.Concat(p.moves, p.unknown)
	if len(all) > 1 {
		return fmt.Sprintf("%s, and %d more", all[0], len(all)-1)
	}
	return strings.Join(all, "")
}

// interrupted returns an error if the run was interrupted.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the run was interrupted: %w", context.Cause(ctx))
}

// mostMoved bounds what is listed one by one.
const mostMoved = 10

// looksWhileQuiet is how often it is looked in the time in which nothing may move: what moves at its beginning must not
// be known only at its end, when all of it has to pass again.
const looksWhileQuiet = 3

// moving says what moves although everything seems to be done: what is written, without heartbeats and the scenario's
// own loads, and what is no longer well.
func (c convergence) moving(ctx context.Context) pending {
	before, err := c.versions(ctx)
	if err != nil {
		return pendingAfter(err)
	}
	seen, quiet := pending{}, c.Clock.Now()
	for range looksWhileQuiet {
		quiet = quiet.Add(c.Patience.Quiet / looksWhileQuiet)
		select {
		case <-ctx.Done():
			return pending{unknown: []string{context.Cause(ctx).Error()}}
		case <-c.Clock.After(quiet.Sub(c.Clock.Now())):
		}
		now, err := c.versions(ctx)
		if err != nil {
			return pendingAfter(err)
		}
		seen.objects, seen.moves = len(now), before.Moved(now)
		if len(seen.moves) > 0 {
			break
		}
	}
	if more := len(seen.moves) - mostMoved; more > 0 {
		seen.moves = append(seen.moves[:mostMoved], fmt.Sprintf("and %d more move", more))
	}
	well := c.unsettled(ctx)
	seen.moves, seen.unknown = append(seen.moves, well.moves...), well.unknown
	return seen
}

// versions of what is in the garden, the seeds and the shoots that are awake.
func (c convergence) versions(ctx context.Context) (inventory.Versions, error) {
	all, mu := inventory.Versions{}, sync.Mutex{}
	group, groupCtx := errgroup.WithContext(ctx)
	look := func(what, name string, config *rest.Config, err error) {
		group.Go(func() error {
			seen := inventory.Versions{}
			if err == nil {
				err = c.look(groupCtx, seen, name, config)
			}
			if err != nil {
				return fmt.Errorf("look at what moves in %s%q: %w", what, name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, seen)
			return nil
		})
	}
	for _, cluster := range append([]string{landscape.Garden}, c.World.Seeds()...) {
		config, err := c.World.Connect(cluster)
		look("", cluster, config, err)
	}
	known := c.registry.all()
	names := slices.Sorted(maps.Keys(known))
	shoots := world.Observe(ctx, c.World, c.clients, world.Query{Shoots: names}).Shoots
	for _, name := range names {
		if !known[name].on || shoots[name].Hibernated {
			continue
		}
		config, err := c.World.ConnectShoot(ctx, name, world.Observer)
		look("the shoot ", name, config, err)
	}
	return all, group.Wait()
}

// look at one cluster. Where loads write, everything moves.
func (c convergence) look(ctx context.Context, into inventory.Versions, cluster string, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, c.Patience.Finale)
	defer cancel()
	return into.Add(ctx, cluster, config, probe.Namespace)
}

// unsettled says what has not settled yet.
func (c convergence) unsettled(ctx context.Context) (seen pending) {
	known := c.registry.all()
	names := slices.Sorted(maps.Keys(known))
	now := world.Observe(ctx, c.World, c.clients, world.Query{Shoots: names, Seeds: c.World.Seeds(),
		Fields: []string{"shoots"}})
	live, blind := map[string]int{}, false
	for _, name := range names {
		shoot := now.Shoots[name]
		live[shoot.Seed]++
		switch {
		case len(shoot.Unknown) > 0:
			blind = true
			seen.unknown = append(seen.unknown, fmt.Sprintf("the shoot %s cannot be read: %s", name, reason(shoot.Unknown)))
		case !known[name].on && shoot.Exists:
			seen.moves = append(seen.moves, fmt.Sprintf("the shoot %s is still there: %s", name, shoot.Doing()))
		case known[name].on && !shoot.Exists:
			seen.moves = append(seen.moves, fmt.Sprintf("there is no shoot %s", name))
		case known[name].on && !shoot.Healthy:
			seen.moves = append(seen.moves, fmt.Sprintf("the shoot %s is not healthy: %s", name, shoot.Doing()))
		}
	}
	for _, name := range c.World.Seeds() {
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
