package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/plan"
)

// replay carries out plans for one kind: the objects of all at once, then each crash alone.
func (k *kit) replay(ctx context.Context, s subject, plans []plan.Plan) ([]*contract.Evidence, error) {
	var all []*contract.Evidence
	var attempts []attempt
	first := k.replays
	for _, p := range plans {
		k.replays++
		e := p.Evidence(*k.evidence(s))
		all = append(all, e)
		for _, o := range p.Objects {
			attempts = append(attempts, attempt{s, e, o.Walk, fmt.Sprintf("%s-r%d", o.Walk, k.replays), o.Steps})
		}
	}
	if err := k.walkAll(ctx, attempts); err != nil {
		return all, err
	}
	for i, p := range plans {
		if p.Crash == nil {
			continue
		}
		if _, reached := all[i].CleanFinal(p.Crash.Step); !reached {
			continue // nothing to compare with
		}
		at := k.newPoint(s, i, p.Crash.Step, p.Crash.Writes, fmt.Sprintf("r%d", first+i+1))
		if err := k.batch(ctx, p.Crash.Step, []*point{at}, all); err != nil {
			return all, err
		}
		all[i].Crashes[0].Alone = true
	}
	return all, nil
}

// judged says what a record shows of a clause.
func judged(e *contract.Evidence, clause contract.Clause) contract.Finding {
	return contract.Judge(e, []contract.Clause{clause}).Findings[clause.ID]
}

// shrink makes a plan smaller that shows a finding, until none of the smaller ones shows it, or most of the time has
// passed. After an error the plan is as it was.
func (k *kit) shrink(ctx context.Context, s subject, p plan.Plan, found contract.Finding,
	within time.Duration) (plan.Plan, error) {
	smallest, ended, err := shrinkWithin(ctx, within, p, func(ctx context.Context, plans []plan.Plan) (int, error) {
		evidence, err := k.replay(ctx, s, plans)
		if err != nil {
			return -1, err
		}
		for i, e := range evidence {
			if f := judged(e, p.Judged()); plan.Same(f, found) {
				plans[i].Found, plans[i].Way = f.Reason, f.Way
				return i, nil
			}
		}
		return -1, nil
	}, func(ctx context.Context) error {
		if p.Crash == nil {
			return nil
		}
		return k.awaitReturn(ctx, k.crashedIn(p.Crash.Step), []*point{k.newPoint(s, 0, p.Crash.Step, 0, "back")})
	})
	if ctx.Err() == nil && ended {
		k.progress("%s of %s: --shrink has ended, and the plan may not be the smallest", p.Clause, p.Of)
		return smallest, nil
	}
	return smallest, err
}

// shrinkWithin makes a plan smaller, and says whether the time for the search has ended. What is left then, a quarter
// at least, is for seeing the smallest once more: it is longer than what that took before. What is interrupted may be
// in the middle of a crash: back waits until the extension is back.
func shrinkWithin(ctx context.Context, within time.Duration, p plan.Plan,
	shows func(context.Context, []plan.Plan) (int, error), back func(context.Context) error,
) (smallest plan.Plan, ended bool, err error) {
	whole, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	until, left := time.Now().Add(within), within/4
	search := func(some []plan.Plan) (int, error) {
		searching, stop := context.WithDeadline(whole, until.Add(-left))
		defer stop()
		began := time.Now()
		i, err := shows(searching, some)
		if took := time.Since(began); i >= 0 {
			left = max(within/4, took+took/4)
		}
		ended = ended || errors.Is(searching.Err(), context.DeadlineExceeded)
		return i, err
	}
	smallest, err = plan.Confirmed(p, func(next []plan.Plan) (int, error) {
		together := len(next)
		if p.Crash != nil { // each has a kill of its own
			together = 1
		}
		done := 0
		for some := range slices.Chunk(next, together) {
			if i, err := search(some); err != nil || i >= 0 {
				return done + i, err
			}
			done += len(some)
		}
		return -1, nil
	}, func(one []plan.Plan) (int, error) {
		if ended {
			if err := back(whole); err != nil {
				return -1, err
			}
		}
		return shows(whole, one)
	})
	return smallest, ended, err
}

// plans writes a plan for each finding that breaks a clause. With --shrink it is the smallest that was found.
func (o *options) plans(ctx context.Context, k *kit, s subject, e *contract.Evidence, r contract.KindReport) error {
	for _, id := range slices.Sorted(maps.Keys(r.Findings)) {
		f := r.Findings[id]
		if f.Outcome != contract.NonConformant {
			continue
		}
		clause, _ := contract.ClauseByID(id)
		p := o.replayed
		if p == nil {
			p = new(plan.Of(e, clause, f))
		}
		if f.Plan = o.plan; o.shrink > 0 || o.plan == "" {
			if o.shrink > 0 {
				steps, _ := p.Size()
				k.progress("%s of %s: looking for a smaller plan than one of %d steps", id, r.Name(), steps)
				smallest, err := k.shrink(ctx, s, *p, f, o.shrink)
				if err != nil { // what the run has found stays, and no more is tried
					k.progress("%s of %s: its plan is not made smaller: %v", id, r.Name(), err)
					o.shrink = 0
				}
				p = &smallest
			}
			content, err := p.Marshal()
			if err != nil {
				return fmt.Errorf("encode a plan: %w", err)
			}
			name := filepath.Join(plansName, p.FileName())
			if err := o.writeFile(name, content); err != nil {
				return err
			}
			f.Plan = filepath.Join(o.out, name)
		}
		r.Findings[id] = f
	}
	return nil
}
