package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Promise that a scenario makes, and what became of it.
type Promise struct {
	Name string
	// Violations is their number.
	Violations int
	// Unseen is what somebody must have seen before it can be said that the promise was kept; empty for one that was
	// broken.
	Unseen []string
}

// PromisesOf the scenario of a run, by name: those that every scenario makes, that about goals where it has some, and
// its oracles.
func PromisesOf(r *Report, events []timeline.Event) []Promise {
	_, started, _ := timeline.First[timeline.RunStarted](events)
	definition := &scenario.Scenario{}
	if err := json.Unmarshal(started.Definition, definition); err != nil {
		return nil // Judge has refused such a timeline
	}
	all := []Promise{
		{Name: Expect, Unseen: unseenSteps(events, definition)},
		{Name: Settle, Unseen: unseenSettled(events)},
	}
	if definition.Spec.Measure != (scenario.Measure{}) {
		all = append(all, Promise{Name: Goal, Unseen: unmeasured(r)})
	}
	for _, name := range definition.Spec.Always {
		all = append(all, Promise{Name: string(name), Unseen: r.unseen(string(name))})
	}
	for _, v := range r.Violations {
		at := slices.IndexFunc(all, func(p Promise) bool { return p.Name == v.Oracle })
		if at < 0 {
			at, all = len(all), append(all, Promise{Name: v.Oracle})
		}
		all[at].Violations++
		all[at].Unseen = nil
	}
	slices.SortFunc(all, func(a, b Promise) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// unseen evidence of an oracle, as it was when the run was judged: some oracles search for seconds.
func (r *Report) unseen(name string) []string {
	switch {
	case r.Unwatched:
		return []string{"anything: the run was started with --unwatched"}
	case !slices.Contains(r.Promises, name):
		return []string{"whether it was kept: there is no oracle of this name"}
	default:
		return r.Unseen[name]
	}
}

func unseenSteps(events []timeline.Event, definition *scenario.Scenario) []string {
	unseen := unknownSteps(events)
	done := len(unseen)
	for _, p := range timeline.Of[timeline.StepEnded](events) {
		if p.Outcome == timeline.StepDone {
			done++
		}
	}
	if all := len(definition.Spec.Steps); done < all {
		unseen = append(unseen, fmt.Sprintf("%d of the %d steps done", all-done, all))
	}
	return unseen
}

// unknownSteps are the expectations of which nobody could see whether they were met.
func unknownSteps(events []timeline.Event) (unseen []string) {
	for _, p := range timeline.Of[timeline.StepEnded](events) {
		if p.Outcome == timeline.StepUnknown {
			unseen = append(unseen, fmt.Sprintf("how step %d ends: %s", p.Index+1, p.Message))
		}
	}
	return unseen
}

// unseenSettled is why it is unknown whether the landscape settled in time.
func unseenSettled(events []timeline.Event) []string {
	_, settled, any := timeline.First[timeline.Settled](events)
	unknown := unknownSettled(events)
	switch {
	case !any:
		return []string{"whether the landscape settled"}
	case !settled.Converged && len(unknown) == 0: // what still moved counts only in a complete run
		return []string{"whether the landscape settles once every step is done"}
	}
	return unknown
}

// unknownSettled is what nobody could look at when the landscape was to settle.
func unknownSettled(events []timeline.Event) (unseen []string) {
	for _, settled := range timeline.Of[timeline.Settled](events) {
		for _, why := range settled.Unknown {
			unseen = append(unseen, "whether all has settled: "+why)
		}
	}
	return unseen
}

// unmeasured goals. A run that nobody watched has not even objectives.
func unmeasured(r *Report) (all []string) {
	for _, o := range r.Objectives {
		if o.Measured == nil {
			all = append(all, "what the goal for "+o.Measure+" is about")
		}
		for _, what := range o.Unseen {
			all = append(all, what+", for the goal for "+o.Measure)
		}
	}
	if len(r.Objectives) == 0 {
		all = append(all, "what the goals are about")
	}
	return all
}
