package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// again is the condition of a step, judged once more by what the record says was observed for it.
type again struct {
	step      timeline.StepStarted
	due       time.Duration // until when it may take
	condition *expression.Expression
	known     state.Observed
	outcome   timeline.StepOutcome // by what is known so far; empty before the first look
	why       string
	problem   string // the first that the record itself has; observations after it are not evaluated
}

// judgeAgain judges every expectation, and every wait for a condition, by the record alone. It returns where the run
// has come to another outcome: the harness is wrong then. What cannot be judged again is noted in the report.
func (r *Report) judgeAgain(events []timeline.Event, definition *scenario.Scenario, recorded bool) (wrong []string) {
	var begun *timeline.StepStarted // the step that goes on
	var open *again                 // its condition
	asked := false
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			wrong = append(wrong, r.leave(open)...)
			begun, open = &p, r.newAgain(e.At, p, definition)
		case timeline.Observed:
			if open != nil {
				open.take(e.Seq, p)
			}
		case timeline.StepEnded:
			if begun == nil || begun.Index != p.Index {
				wrong = append(wrong, r.leave(open)...)
				open = r.newAgain(e.At, timeline.StepStarted{Index: p.Index, Text: p.Text}, definition)
				if open != nil {
					open.problem = "has ended and not begun"
				}
			}
			if open != nil {
				asked, wrong = true, append(wrong, open.against(e.At, p.Outcome)...)
			}
			begun, open = nil, nil
		}
	}
	wrong = append(wrong, r.leave(open)...)
	if !recorded && (asked || len(r.NotJudged) > 0) { // it is from before there were observations
		r.NotJudged = []string{"the conditions of the steps: what was observed for them is not recorded"}
		return nil
	}
	return wrong
}

// newAgain is nil for a step without a condition, and for one whose condition cannot be known, which it notes.
func (r *Report) newAgain(at time.Duration, step timeline.StepStarted, definition *scenario.Scenario) *again {
	if step.Index < 0 || step.Index >= len(definition.Spec.Steps) {
		r.NotJudged = append(r.NotJudged, fmt.Sprintf("step %d: the scenario has no such step", step.Index+1))
		return nil
	}
	that, within := definition.Spec.Steps[step.Index].Condition()
	if that == "" {
		return nil
	}
	condition, err := expression.Compile(that)
	if err != nil {
		r.NotJudged = append(r.NotJudged, fmt.Sprintf("the condition of step %d: %v", step.Index+1, err))
		return nil
	}
	return &again{step: step, due: at + within, condition: condition}
}

// leave a step that does not end on the record: only a problem of the record can be found there.
func (r *Report) leave(open *again) []string {
	switch {
	case open == nil:
		return nil
	case open.problem != "":
		return open.wrong(open.problem)
	}
	r.NotJudged = append(r.NotJudged, fmt.Sprintf("the condition of step %d: its end is not recorded", open.step.Index+1))
	return nil
}

func (a *again) take(seq int, p timeline.Observed) {
	if p.That != a.condition.String() || a.problem != "" {
		return
	}
	if a.outcome == timeline.StepDone {
		a.problem = fmt.Sprintf("went on after its condition was true: %s; event %d is another look", a.why, seq)
		return
	}
	if err := a.known.Take(p); err != nil {
		a.problem = err.Error()
		return
	}
	met, why, err := a.condition.Evaluate(a.known.Snapshot(a.condition))
	a.why = why
	switch {
	case met:
		a.outcome = timeline.StepDone
	case err != nil:
		a.outcome = timeline.StepUnknown
	default:
		a.outcome = timeline.StepUnmet
	}
}

// against the outcome of the run: what does not agree with it; nothing when all does. A step that failed may have been
// interrupted at any time, and that is how a wait says that its condition did not become true.
func (a *again) against(at time.Duration, outcome timeline.StepOutcome) []string {
	failed := outcome == timeline.StepFailed
	switch {
	case a.problem != "":
		return a.wrong(a.problem)
	case !failed && outcome != timeline.StepDone && at < a.due:
		return a.wrong(fmt.Sprintf("is %s %s before its time was over", lower(outcome), a.due-at))
	case failed && a.outcome != timeline.StepDone, a.outcome == outcome:
		return nil
	case a.outcome == "":
		return a.wrong(fmt.Sprintf("is %s, and nothing is recorded that was observed for it", lower(outcome)))
	}
	return a.wrong(fmt.Sprintf("is %s, and %s by what was observed: %s", lower(outcome), lower(a.outcome), a.why))
}

func (a *again) wrong(what string) []string {
	return []string{fmt.Sprintf("step %d, %s, %s", a.step.Index+1, a.step.Text, what)}
}

func lower(outcome timeline.StepOutcome) string { return strings.ToLower(string(outcome)) }
