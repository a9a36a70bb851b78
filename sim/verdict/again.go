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
	due       time.Duration // until when it may take
	condition *expression.Expression
	known     state.Observed
	outcome   timeline.StepOutcome // by what is known so far; empty before the first look
	why       string
	problem   string // the first that the observations themselves have; those after it are not evaluated
}

// judgeAgain judges every expectation, and every wait for a condition, by the record alone. It returns where the run
// has come to another outcome: the harness is wrong then. What cannot be judged again is noted in the report.
func (r *Report) judgeAgain(events []timeline.Event, definition *scenario.Scenario, recorded bool) (wrong []string) {
	var open *again
	unrecorded := false
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			open = r.newAgain(e.At, p, definition)
		case timeline.Observed:
			if open != nil {
				open.take(e.Seq, p)
			}
		case timeline.StepEnded:
			switch {
			case open == nil:
			case !recorded:
				unrecorded = true
			default:
				if what := open.against(e.At, p.Outcome); what != "" {
					wrong = append(wrong, fmt.Sprintf("step %d, %s, %s", p.Index+1, p.Text, what))
				}
			}
			open = nil
		}
	}
	if unrecorded {
		r.NotJudged = append(r.NotJudged, "the conditions of the steps: what was observed for them is not recorded")
	}
	return wrong
}

// newAgain is nil for a step without a condition.
func (r *Report) newAgain(at time.Duration, p timeline.StepStarted, definition *scenario.Scenario) *again {
	if p.Index < 0 || p.Index >= len(definition.Spec.Steps) {
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
	return &again{due: at + within, condition: condition}
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

// against the outcome of the run: what does not agree with it; empty when all does. A step that failed may have been
// interrupted at any time, and that is how a wait says that its condition did not become true.
func (a *again) against(at time.Duration, outcome timeline.StepOutcome) string {
	failed := outcome == timeline.StepFailed
	switch {
	case a.problem != "":
		return a.problem
	case !failed && outcome != timeline.StepDone && at < a.due:
		return fmt.Sprintf("is %s %s before its time was over", lower(outcome), a.due-at)
	case failed && a.outcome != timeline.StepDone, a.outcome == outcome:
		return ""
	case a.outcome == "":
		return fmt.Sprintf("is %s, and nothing is recorded that was observed for it", lower(outcome))
	}
	return fmt.Sprintf("is %s, and %s by what was observed: %s", lower(outcome), lower(a.outcome), a.why)
}

func lower(outcome timeline.StepOutcome) string { return strings.ToLower(string(outcome)) }
