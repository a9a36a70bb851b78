package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Promise that a story makes, and what became of it.
type Promise struct {
	Name string
	// Broken is how often.
	Broken int
	// Unseen is what somebody must have seen before it can be said that the promise was kept; empty for one that was broken.
	Unseen []string
}

// PromisesOf the story of a run, by name: those that every story makes, that about goals where it has some, and its oracles.
func PromisesOf(r *Report, events []timeline.Event) []Promise {
	_, started, _ := timeline.First[timeline.RunStarted](events)
	story := &scenario.Scenario{}
	if err := json.Unmarshal(started.Story, story); err != nil {
		return nil // Judge has refused such a timeline
	}
	all := []Promise{{Name: Expect, Unseen: unseenSteps(events, story)}, {Name: Settle, Unseen: unseenRest(events)}}
	if story.Spec.Measure != (scenario.Measure{}) {
		all = append(all, Promise{Name: Goal, Unseen: unmeasured(r)})
	}
	for _, name := range story.Spec.Always {
		all = append(all, Promise{Name: string(name), Unseen: r.unseen(string(name))})
	}
	for _, v := range r.Violations {
		at := slices.IndexFunc(all, func(p Promise) bool { return p.Name == v.Oracle })
		if at < 0 {
			at, all = len(all), append(all, Promise{Name: v.Oracle})
		}
		all[at].Broken++
		all[at].Unseen = nil
	}
	slices.SortFunc(all, func(a, b Promise) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// unseen evidence of an oracle, as it was when the run was judged: some oracles search for seconds.
func (r *Report) unseen(name string) []string {
	switch {
	case r.Unwatched:
		return []string{"anything: the run was told with --unwatched"}
	case !slices.Contains(r.Promises, name):
		return []string{"whether it was kept: there is no oracle of this name"}
	default:
		return r.Unseen[name]
	}
}

func unseenSteps(events []timeline.Event, story *scenario.Scenario) []string {
	done := 0
	for _, p := range timeline.Of[timeline.StepEnded](events) {
		if p.Outcome == timeline.StepDone {
			done++
		}
	}
	if all := len(story.Spec.Steps); done < all {
		return []string{fmt.Sprintf("%d of the %d steps done", all-done, all)}
	}
	return nil
}

func unseenRest(events []timeline.Event) []string {
	if _, _, settled := timeline.First[timeline.Settled](events); !settled {
		return []string{"whether the landscape came to rest"}
	}
	return nil
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
