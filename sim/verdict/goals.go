package verdict

import (
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// judgeGoals compares what was measured with the goals, and says which goals could not be measured. A measure is that
// of the worst of the shoots of which it was seen: it says nothing about the others, so that each goal has each of
// these for a lack. complete says that the run was carried out without an error.
func (r *Report) judgeGoals(events []timeline.Event, goals scenario.Measure, complete bool) (lacks []string) {
	seconds := func(name string, measured *float64, goal *scenario.Bound, unseen func([]timeline.Event) []string) {
		if goal != nil {
			lacks = append(lacks, r.judgeGoal(events, Objective{Measure: name, Max: goal.Seconds(), Measured: measured}, unseen,
				func(measured float64) string {
					return fmt.Sprintf("%s is %gs, the goal is at most %s", name, measured, goal.Max.Duration)
				})...)
		}
	}
	count := func(name, missed string, measured *int, goal *scenario.Count, unseen func([]timeline.Event) []string) {
		if goal != nil {
			lacks = append(lacks,
				r.judgeGoal(events, Objective{Measure: name, Max: float64(goal.Max), Measured: number(measured)}, unseen,
					func(measured float64) string {
						return fmt.Sprintf("%g %s, the goal is at most %d", measured, missed, goal.Max)
					})...)
		}
	}
	seconds("apiDowntime", r.Measures.APIDowntimeSeconds, goals.APIDowntime, func(events []timeline.Event) []string {
		return measure.Unreached(events, goals.APIDowntime.Max.Duration)
	})
	seconds("bystanderDowntime", r.Measures.BystanderDowntimeSeconds, goals.BystanderDowntime,
		func(events []timeline.Event) []string {
			return measure.UnreachedBystanders(events, goals.BystanderDowntime.Max.Duration)
		})
	if goals.RTO != nil {
		lacks = append(lacks,
			r.judgeRecoveries(events, Objective{Measure: "rto", Max: goals.RTO.Seconds(), Measured: r.Measures.RTOSeconds},
				goals.RTO.Max.Duration, complete)...)
	}
	seconds("rpo", r.Measures.RPOSeconds, goals.RPO, oracle.NoLostWrite{}.Lacks)
	count("lostWrites", "acknowledged writes are lost", r.Measures.LostWrites, goals.LostWrites,
		oracle.NoLostWrite{}.Lacks)
	count("restoresAtOnce", "shoots were restored at once on one seed", r.Measures.RestoresAtOnce, goals.RestoresAtOnce,
		measure.UnseenRestores)
	return lacks
}

// judgeGoal notes an objective; message says how it was missed, unseen what must have been seen for it to be reached.
func (r *Report) judgeGoal(events []timeline.Event, o Objective, unseen func([]timeline.Event) []string,
	message func(measured float64) string) (lacks []string) {
	if o.Measured != nil && !o.Missed() { // it takes no more evidence that it was missed
		o.Unseen = unseen(events)
	}
	r.Objectives = append(r.Objectives, o)
	if o.Measured == nil {
		return []string{"the goal for " + o.Measure + " could not be measured"}
	}
	if o.Missed() {
		r.miss(events, o, message(*o.Measured), proofOf(o.Measure, events)...)
	}
	for _, what := range o.Unseen {
		lacks = append(lacks, "the goal for "+o.Measure+" has not seen "+what)
	}
	return lacks
}

// judgeRecoveries is judgeGoal for the RTO. It is the one goal that is missed by what did not happen: who is asked
// longer than the goal allows and still gives no good answer has not recovered in time, however long it would have
// taken. Where the run could not be carried out, a recovery was not owed.
func (r *Report) judgeRecoveries(
	events []timeline.Event, o Objective, most time.Duration, complete bool,
) (lacks []string) {
	unrecovered, before, measured := measure.NotRecovered(events), len(r.Violations), o
	for _, u := range unrecovered {
		waited := measure.Seconds(u.Tried)
		if !complete || waited <= o.Max {
			continue
		}
		if o.Measured == nil || *o.Measured < waited {
			o.Measured = &waited // at least
		}
		silence := "had acknowledged no write of a later owner"
		if !u.Wrote {
			silence = "could not be reached"
		}
		r.miss(events, o, fmt.Sprintf("rto: %s %s after %gs, the goal is at most %s", u.Shoot, silence, waited, most),
			u.Events...)
	}
	if late := len(r.Violations) > before; late && (r.Measures.RTOSeconds == nil || *r.Measures.RTOSeconds <= o.Max) {
		r.Objectives = append(r.Objectives, o)
		return nil
	}
	return r.judgeGoal(events, measured, func([]timeline.Event) (unseen []string) {
		for _, u := range unrecovered {
			unseen = append(unseen, "the recovery of "+u.Shoot)
		}
		return unseen
	}, func(measured float64) string {
		return fmt.Sprintf("rto is %gs, the goal is at most %s", measured, most)
	})
}

// miss notes that a goal was missed.
func (r *Report) miss(events []timeline.Event, o Objective, message string, proof ...int) {
	r.violate(Goal, events[len(events)-1].At, message, proof...)
	r.Violations[len(r.Violations)-1].Measure = o.Measure
}

func number(count *int) *float64 {
	if count == nil {
		return nil
	}
	return new(float64(*count))
}

// doubtGoals takes back that goals were missed, for a reason.
func (r *Report) doubtGoals(why string) {
	for i := range r.Objectives {
		if o := &r.Objectives[i]; o.Missed() {
			o.Unseen = []string{why}
		}
	}
}
