package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// again is the condition of a step, judged once more by what the record says was observed for it.
type again struct {
	step    timeline.StepStarted
	due     time.Duration // until when it may take
	once    bool          // one observation decides
	known   *state.Observed
	outcome timeline.StepOutcome // by what is known so far; empty before the first look
	problem string               // the first that the record itself has; observations after it are not evaluated
}

// judgeAgain judges every expectation, and every wait for a condition, by the record alone. It returns where the run
// has come to another outcome: the harness is wrong then. What cannot be judged again is noted in the report.
func (r *Report) judgeAgain(events []timeline.Event, definition *scenario.Scenario, recorded bool) (wrong []string) {
	if !recorded { // it is from before there were observations
		asks := func(one step.Spec) bool { that, _ := one.Condition(); return that != "" }
		if slices.ContainsFunc(definition.Spec.Steps, asks) {
			r.NotJudged = append(r.NotJudged, "the conditions of the steps: what was observed for them is not recorded")
		}
		return nil
	}
	var begun *timeline.StepStarted // the step that goes on
	var open *again                 // its condition
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			wrong = append(wrong, r.end(open, e.At, "")...)
			begun, open = &p, r.newAgain(e.At, p, definition)
		case timeline.Observed:
			if open != nil {
				open.take(e.Seq, p)
			}
		case timeline.StepEnded:
			if begun == nil || begun.Index != p.Index {
				wrong = append(wrong, r.end(open, e.At, "")...)
				open = r.newAgain(e.At, timeline.StepStarted{Index: p.Index, Text: p.Text}, definition)
				if open != nil {
					open.problem = "has ended and not begun"
				}
			}
			wrong = append(wrong, r.end(open, e.At, p.Outcome)...)
			begun, open = nil, nil
		}
	}
	return append(wrong, r.end(open, 0, "")...)
}

// newAgain is nil for a step without a condition, and for one whose condition cannot be known, which it notes.
func (r *Report) newAgain(at time.Duration, p timeline.StepStarted, definition *scenario.Scenario) *again {
	if p.Index < 0 || p.Index >= len(definition.Spec.Steps) {
		r.NotJudged = append(r.NotJudged, fmt.Sprintf("step %d: the scenario has no such step", p.Index+1))
		return nil
	}
	that, within := definition.Spec.Steps[p.Index].Condition()
	if that == "" {
		return nil
	}
	condition, err := expression.Compile(that)
	if err != nil {
		r.NotJudged = append(r.NotJudged, fmt.Sprintf("the condition of step %d: %v", p.Index+1, err))
		return nil
	}
	return &again{step: p, due: at + within, once: definition.Spec.Steps[p.Index].Once(),
		known: state.NewObserved(condition)}
}

func (a *again) take(seq int, p timeline.Observed) {
	if p.That != a.known.Condition.String() || a.problem != "" {
		return
	}
	if a.outcome == timeline.StepDone {
		a.problem = fmt.Sprintf("went on after its condition was true: %s; event %d is another observation", a.known.Why, seq)
		return
	}
	if a.once && a.outcome != "" {
		a.problem = fmt.Sprintf("is judged by one observation: %s; event %d is another", a.known.Why, seq)
		return
	}
	if err := a.known.Take(p); err != nil {
		a.problem = err.Error()
		return
	}
	switch {
	case a.known.Met:
		a.outcome = timeline.StepDone
	case a.known.Unknown != nil:
		a.outcome = timeline.StepUnknown
	default:
		a.outcome = timeline.StepUnmet
	}
}

// end compares the outcome of the run with the record. There is none if the step's end is not recorded. A step that
// failed may have been interrupted at any time, or is a wait whose condition did not become true.
func (r *Report) end(a *again, at time.Duration, outcome timeline.StepOutcome) (wrong []string) {
	if a == nil {
		return nil
	}
	failed, what := outcome == timeline.StepFailed, a.problem
	switch {
	case what != "":
	case outcome == "":
		r.NotJudged = append(r.NotJudged, fmt.Sprintf("the condition of step %d: its end is not recorded", a.step.Index+1))
		return nil
	case !failed && outcome != timeline.StepDone && at < a.due && (!a.once || outcome == timeline.StepUnknown):
		what = fmt.Sprintf("is %s %s before its time was over", lower(outcome), a.due-at)
	case failed && a.outcome != timeline.StepDone, a.outcome == outcome:
		return nil
	case a.outcome == "":
		what = fmt.Sprintf("is %s, and nothing is recorded that was observed for it", lower(outcome))
	default:
		what = fmt.Sprintf("is %s, and %s by what was observed: %s", lower(outcome), lower(a.outcome), a.known.Why)
	}
	return []string{fmt.Sprintf("step %d, %s, %s", a.step.Index+1, a.step.Text, what)}
}

func lower(outcome timeline.StepOutcome) string { return strings.ToLower(string(outcome)) }
