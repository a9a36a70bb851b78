package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/sim/contract"
)

// Of is a plan that repeats what breaks a clause: the objects without which the record does not show it, each up to the
// last step that it needs. What was found at several crash points is repeated at the first.
func Of(e *contract.Evidence, clause contract.Clause, found contract.Finding) Plan {
	p := Plan{APIVersion: contract.APIVersion, Kind: FileKind, Clause: clause.ID, Of: e.Kind + "/" + e.Type,
		Found: found.Reason, Way: found.Way}
	if clause.ID == contract.ByCrashes {
		for _, point := range found.Points {
			if point.Outcome == contract.NonConformant && point.Reason == found.Reason {
				p.Crash = &Crash{point.Step, point.Writes}
				break
			}
		}
	}
	for name, all := range contract.WalkSteps {
		o := Object{Walk: name}
		for _, step := range all {
			if e.Walks[name].Step(step) != nil {
				o.Steps = append(o.Steps, step)
			}
		}
		if len(o.Steps) > 0 {
			p.Objects = append(p.Objects, o)
		}
	}
	slices.SortFunc(p.Objects, func(a, b Object) int {
		return cmp.Or(len(b.Steps)-len(a.Steps), strings.Compare(a.Walk, b.Walk))
	})
	for i := len(p.Objects) - 1; i >= 0; i-- {
		if p.isSample(i) {
			continue
		}
		if without := p.without(i); len(without.check([]string{p.Of})) == 0 && shows(e, clause, without, found) {
			p = without
		}
	}
	for i := range p.Objects {
		for n := 1; n < len(p.Objects[i].Steps); n++ {
			shorter := p.withSteps(i, p.Objects[i].Steps[:n])
			if len(shorter.check([]string{p.Of})) == 0 && shows(e, clause, shorter, found) {
				p = shorter
				break
			}
		}
	}
	return p
}

// isSample says that an object stays in the plan, created at least: without several that are alike a replay does not
// show which values are chance.
func (p Plan) isSample(object int) bool {
	return p.Clause == contract.ByCrashes && p.crash().Step == contract.Create &&
		(p.Way == "" || contract.IsOfValues(p.Way)) &&
		slices.Contains(contract.Compared(p.Objects[object].Walk), contract.Create)
}

// shows says whether the record shows the finding in what a plan asks for.
func shows(e *contract.Evidence, clause contract.Clause, p Plan, found contract.Finding) bool {
	part := *e
	part.Walks, part.Crashes, part.CrashSteps = map[string]*contract.Walk{}, nil, nil
	for _, o := range p.Objects {
		w := *e.Walks[o.Walk]
		w.Steps = slices.DeleteFunc(slices.Clone(w.Steps), func(s *contract.Step) bool {
			return !slices.Contains(o.Steps, s.Name) &&
				(s.Name != contract.RestoreHelped || !slices.Contains(o.Steps, contract.Restore)) // which belongs to it
		})
		part.Walks[o.Walk] = &w
	}
	if p.Crash != nil {
		part.CrashSteps = []string{p.Crash.Step}
		for _, c := range e.Crashes {
			if c.Step == p.Crash.Step && c.Writes == p.Crash.Writes {
				part.Crashes = append(part.Crashes, c)
			}
		}
	}
	got := contract.Judge(&part, []contract.Clause{clause}).Findings[clause.ID]
	return Same(got, found)
}

// Same says whether two findings break a clause in the same way.
func Same(a, b contract.Finding) bool {
	return a.Outcome == contract.NonConformant && b.Outcome == contract.NonConformant && a.Way == b.Way
}
