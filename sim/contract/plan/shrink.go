package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/sim/contract"
)

// Shrink makes a plan smaller as long as one of its smaller ones still shows the finding. first tries plans, and says
// which is the first that does; -1 for none. None is tried twice. After an error the plan is the smallest so far.
func Shrink(p Plan, first func([]Plan) (int, error)) (Plan, error) {
	tried := map[string]bool{}
	for {
		var next []Plan
		for _, smaller := range p.smaller() {
			if key := fmt.Sprint(smaller.Objects, smaller.crash()); !tried[key] {
				tried[key] = true
				next = append(next, smaller)
			}
		}
		if len(next) == 0 {
			return p, nil
		}
		i, err := first(next)
		if err != nil || i < 0 {
			return p, err
		}
		for _, later := range next[i+1:] { // they were not looked at
			delete(tried, fmt.Sprint(later.Objects, later.crash()))
		}
		p = next[i]
	}
}

// Confirmed makes a plan smaller, as Shrink does with search, and returns the smallest that shows the finding again:
// what was seen once may be chance. It is p if none does, or if again has an error. An error of search ends the search
// alone.
func Confirmed(p Plan, search, again func([]Plan) (int, error)) (Plan, error) {
	var found []Plan
	_, ended := Shrink(p, func(next []Plan) (int, error) {
		i, err := search(next)
		if err == nil && i >= 0 {
			found = append(found, next[i])
		}
		return i, err
	})
	for _, smaller := range slices.Backward(found) {
		i, err := again([]Plan{smaller})
		if err != nil {
			return p, errors.Join(ended, err)
		}
		if i >= 0 {
			return smaller, ended
		}
	}
	return p, ended
}

// smaller are the plans that have less than this one and make sense, those without most first: objects, then steps,
// then writes before the crash.
func (p Plan) smaller() []Plan {
	var all []Plan
	for i := range p.Objects {
		if !p.isSample(i) {
			all = append(all, p.without(i))
		}
	}
	for i, o := range p.Objects {
		for size := len(o.Steps) - 1; size > 0; size-- { // some only go together
			for from := len(o.Steps) - size; from > 0; from-- { // later steps first; the first makes the object
				all = append(all, p.withSteps(i, slices.Delete(slices.Clone(o.Steps), from, from+size)))
			}
		}
	}
	if p.Crash != nil {
		for _, writes := range []int{0, p.Crash.Writes / 2, p.Crash.Writes - 1} {
			if writes >= 0 && writes < p.Crash.Writes {
				smaller := p
				smaller.Crash = &Crash{p.Crash.Step, writes}
				all = append(all, smaller)
			}
		}
	}
	return slices.DeleteFunc(all, func(p Plan) bool { return len(p.check([]string{p.Of})) > 0 })
}

func (p Plan) without(object int) Plan {
	p.Objects = slices.Delete(slices.Clone(p.Objects), object, object+1)
	return p
}

func (p Plan) withSteps(object int, steps []string) Plan {
	p.Objects = slices.Clone(p.Objects)
	p.Objects[object].Steps = slices.Clone(steps)
	return p
}

// crash is the value, which can be compared.
func (p Plan) crash() Crash {
	if p.Crash == nil {
		return Crash{}
	}
	return *p.Crash
}

// Size is how many steps are asked for, and how many writes pass before a crash.
func (p Plan) Size() (steps, writes int) {
	for _, o := range p.Objects {
		steps += len(o.Steps)
	}
	return steps, p.crash().Writes
}

// Evidence is what a plan is judged by, as far as it says that: what is seen of it is added. Kind, type and what holds
// for the extension are those of e.
func (p Plan) Evidence(e contract.Evidence) *contract.Evidence {
	e.Walks = map[string]*contract.Walk{}
	if p.Crash != nil {
		e.CrashSteps = []string{p.Crash.Step}
	}
	return &e
}
