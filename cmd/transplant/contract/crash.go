package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/tap"
)

// point is a crash point of a kind.
type point struct {
	*universe
	of        int    // the evidence
	operation string // one of contract.CrashSteps
	writes    int
	gate      *tap.Gate
	failed    string    // why the object never came to the step
	last      bool      // after all writes: the undisturbed step has made no more
	over      time.Time // when the object was seen with its answer and all its writes
	ended     bool      // it was left so, and made no more writes until the crash
}

// crashAll tries all crash points of all kinds. For each number n of writes that an undisturbed step has made, an
// object is let make n and no more. When all such objects have come to that, one kill is a crash for each.
//
// That is all there is: what an extension leaves if it dies after a write, whether or not it has got the answer, is
// what it leaves if it dies before the next.
func (k *kit) crashAll(ctx context.Context, subjects []subject, all []*contract.Evidence) error {
	for _, step := range contract.CrashSteps {
		var points []*point
		for i, s := range subjects {
			if _, reached := all[i].CleanFinal(step); !reached || !slices.Contains(all[i].CrashSteps, step) {
				continue // nothing to compare with
			}
			for n := range all[i].Walks[contract.Undisturbed(step)].Step(step).Written() + 1 {
				points = append(points, k.newPoint(s, i, step, n, "crash"))
			}
		}
		if len(points) == 0 {
			continue
		}
		k.progress("%s: one crash of the extension at %d points", step, len(points))
		if err := k.batch(ctx, step, points, all); err != nil {
			return err
		}
		if err := k.confirm(ctx, step, subjects, all); err != nil {
			return err
		}
	}
	return nil
}

// crashError has ended the crashes.
type crashError struct{ error }

// Unwrap is why.
func (e *crashError) Unwrap() error { return e.error }

// crashedIn is the seed on which the extension is killed in a step.
func (k *kit) crashedIn(step string) *side {
	if step == contract.Restore {
		return k.destination()
	}
	return k.source()
}

func (k *kit) newPoint(s subject, of int, step string, writes int, name string) *point {
	return &point{universe: k.newUniverse(s, fmt.Sprintf("%s-%s-%d", name, step, writes)), of: of, operation: step,
		writes: writes}
}

// confirm tries each point that differs, or at which nothing was interrupted, once more, alone.
func (k *kit) confirm(ctx context.Context, step string, subjects []subject, all []*contract.Evidence) error {
	for i, e := range all {
		for _, c := range e.Crashes {
			if c.Step != step || c.Alone || c.Missed && c.Final.Missing != "" || !c.Missed && e.Differs(c) == "" {
				continue
			}
			what := "differs"
			if c.Missed {
				what = "has interrupted nothing"
			}
			k.progress("%s/%s %s %s: once more, alone", e.Kind, e.Type, c.Point(), what)
			if err := k.batch(ctx, step, []*point{k.newPoint(subjects[i], i, step, c.Writes, "alone")}, all); err != nil {
				return err
			}
			e.Crashes[len(e.Crashes)-1].Alone = true
		}
	}
	return nil
}

// batch brings all points to their writes, kills the extension once, and waits for the end of all. An error is a
// crashError, and then none of the points is in the evidence.
func (k *kit) batch(ctx context.Context, step string, points []*point, all []*contract.Evidence) error {
	for _, p := range points {
		p.last = p.writes >= all[p.of].Walks[contract.Undisturbed(step)].Step(step).Written()
	}
	if err := k.interrupt(ctx, step, points); err != nil {
		return &crashError{fmt.Errorf("crashes in %s: %w", step, err)}
	}
	for _, p := range points {
		all[p.of].Crashes = append(all[p.of].Crashes, p.crash())
	}
	for _, e := range all {
		e.AcceptShortages()
	}
	return nil
}

func (k *kit) interrupt(ctx context.Context, step string, points []*point) error {
	at := k.crashedIn(step)
	if err := each(ctx, points, func(ctx context.Context, p *point) error { return p.prepare(ctx) }); err != nil {
		return err
	}
	// Asked one after the other, so that none is kept waiting behind objects that are retried.
	for _, p := range points {
		if p.failed == "" {
			p.gate = at.tap.Limit(p.namespace, p.writes)
		}
	}
	for _, p := range points {
		if p.failed != "" {
			continue
		}
		if _, err := p.plan(step).ask(ctx, at); err != nil {
			return fmt.Errorf("%s of %s: %w", step, p.namespace, err)
		}
	}
	if err := each(ctx, points, func(ctx context.Context, p *point) error { return p.awaitGate(ctx, at) }); err != nil {
		return err
	}
	for _, p := range points {
		p.lookBefore()
	}
	restarted, err := k.kill(ctx, at)
	if err != nil {
		return err
	}
	at.tap.Open()
	if err := restarted(ctx); err != nil {
		return err
	}
	if err := k.awaitReturn(ctx, at, points); err != nil {
		return err
	}
	if err := each(ctx, points, func(ctx context.Context, p *point) error { return p.awaitAnswer(ctx, at) }); err != nil {
		return err
	}
	// It may still touch what had its answer before.
	if err := sleep(ctx, k.quiet); err != nil {
		return err
	}
	return each(ctx, points, func(ctx context.Context, p *point) error { return p.finish(ctx, at) })
}

// crash is what became of the point. One that never came to its step was not interrupted.
func (p *point) crash() contract.Crash {
	c := contract.Crash{Step: p.operation, Writes: p.writes}
	if p.failed != "" {
		c.Missed, c.Final.Missing = true, p.failed
		return c
	}
	passed, refused := p.gate.Counts()
	c.Missed, c.Ended, c.Passed = refused == 0 && passed < p.writes, p.ended, passed
	var was *contract.Step
	if p.operation != contract.Create {
		was = p.walk.Steps[0]
	}
	c.Final = contract.FinalOf(p.namespace, was, p.walk.Steps)
	return c
}

// awaitReturn waits until the extension serves all kinds of the points again: until it has made a new object of each.
// What a point shows before was done by nobody. If it does not come back, the points show that.
func (k *kit) awaitReturn(ctx context.Context, at *side, points []*point) error {
	k.kills++
	kinds := map[int]*point{}
	for _, p := range points {
		if p.failed == "" && kinds[p.of] == nil {
			kinds[p.of] = &point{universe: k.newUniverse(p.subject, fmt.Sprintf("after-%d", k.kills))}
		}
	}
	return each(ctx, slices.Collect(maps.Values(kinds)), func(ctx context.Context, p *point) error {
		if done, err := p.comeTo(ctx, at); err != nil || !done {
			return err
		}
		create := p.plan(contract.Create)
		create.wait += returnWait * time.Duration(p.multiplier)
		if _, err := p.take(ctx, at, create); err != nil {
			return err
		}
		return asking{p.universe}.clear(ctx)
	})
}

// before are the steps before each crash.
var before = map[string][]string{
	contract.Create: nil, contract.Migrate: {contract.Create}, contract.Delete: {contract.Create},
	contract.Restore: {contract.Create, contract.Migrate, contract.DeleteSource, contract.WaitForState},
}

// prepare brings the object to where the step is asked for.
func (p *point) prepare(ctx context.Context) error {
	p.lists = true
	if p.operation == contract.Create {
		_, err := p.comeTo(ctx, p.source())
		p.walk.Steps = []*contract.Step{{Name: "arrive"}} // what comes before the answer is of this step
		p.failed = p.walk.Ended
		return err
	}
	done, err := p.follow(ctx, before[p.operation])
	if err == nil && !done {
		p.failed = p.walk.Ended
	}
	return err
}

// gateWait bounds how long is waited for an object to come to its last write. What does not come to it in time has made
// fewer writes than the undisturbed one.
const gateWait = 20 * time.Second

// awaitGate waits until a write was refused, or the extension has nothing more to do. What was answered may have needed
// a write less than the undisturbed one, such as one about progress: that may be after all writes, too.
func (p *point) awaitGate(ctx context.Context, at *side) error {
	if p.failed != "" {
		return nil
	}
	until, before := time.Now().Add(gateWait*time.Duration(p.multiplier)), -1
	for {
		passed, refused := p.gate.Counts()
		latest, _ := at.objects[p.kind.Name].see(p.key())
		answered := latest.object != nil && p.answered()(latest) == nil
		if answered && refused == 0 && (passed >= p.writes || p.last && passed != before) {
			p.over = time.Now()
		}
		if refused > 0 || answered && passed >= p.writes || time.Now().After(until) {
			return nil
		}
		if answered && p.last && passed != before { // and quiet from then on
			before, until = passed, p.over.Add(p.quiet)
		}
		if err := sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// lookBefore the crash whether the object has come to the end of its step.
func (p *point) lookBefore() {
	if p.failed != "" {
		return
	}
	_, refused := p.gate.Counts()
	p.ended = refused == 0 && !p.over.IsZero() && time.Since(p.over) >= p.quiet
}

// answered is what the gardenlet waits for.
func (p *point) answered() answer { return p.plan(p.operation).answered }

// awaitAnswer waits for the answer after the crash. Whether there is one shows at the end.
func (p *point) awaitAnswer(ctx context.Context, at *side) error {
	if p.failed == "" {
		_, _ = at.objects[p.kind.Name].await(ctx, p.key(), 0, p.waitFor(p.subject), p.answered())
	}
	return ctx.Err()
}

// finish keeps what the object has come to.
func (p *point) finish(ctx context.Context, at *side) error {
	if p.failed != "" {
		return nil
	}
	ask := planned{name: p.operation, ask: nothing, answered: p.answered(), wait: p.settles}
	if _, err := p.take(ctx, at, ask); err != nil {
		return err
	}
	return asking{p.universe}.clear(ctx)
}

// each does something for all points, several at once.
func each(ctx context.Context, points []*point, do func(context.Context, *point) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range points {
		group.Go(func() error { return do(groupCtx, p) })
	}
	return group.Wait()
}
