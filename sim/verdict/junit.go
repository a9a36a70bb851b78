package verdict

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/transplant-sim/transplant/sim/junit"
	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// SuiteOf the run in a folder: test cases, as junit.xml there has them.
func SuiteOf(folder string, report *Report, events []timeline.Event) junit.Suite {
	s := suiteOf(report, events)
	s.pointTo(filepath.Join(folder, LogsName))
	return s.Suite
}

// suite is the test suite of a run.
type suite struct{ junit.Suite }

// suiteOf makes a test case of each step, each promise and each goal; a run whose verdict is Error or Inconclusive has
// one in error. An expectation, a promise or a goal that nobody has seen enough of is skipped, the latter two unless
// they were broken all the same. Properties contain everything that was measured.
func suiteOf(r *Report, events []timeline.Event) suite {
	s := suite{junit.Suite{Name: r.Scenario, Time: r.WallSeconds, Properties: propertiesOf(r)}}
	if !r.Started.IsZero() {
		s.Timestamp = junit.Moment(r.Started)
	}
	s.steps(events)
	for _, p := range PromisesOf(r, events) {
		if p.Name != Expect && p.Name != Goal { // whose steps and measures have cases of their own
			s.promise(r, p, events)
		}
	}
	for _, o := range r.Objectives {
		s.objective(r, o)
	}
	if r.Verdict == Error || r.Verdict == Inconclusive {
		text := strings.Join(r.Reasons, "\n")
		s.Cases = append(s.Cases, junit.Case{Class: r.Scenario, Name: string(r.Verdict),
			Error: junit.Because(text)})
	}
	return s
}

// pointTo the folder of logs, if there is one, from every error.
func (s *suite) pointTo(logs string) {
	if _, err := os.Stat(logs); err != nil {
		return
	}
	for _, c := range s.Cases {
		if c.Error != nil {
			c.Error.Text += "\nThe logs of actors, extensions and clusters are in " + logs + "."
		}
	}
}

func propertiesOf(r *Report) []junit.Property {
	all := []junit.Property{{Name: "verdict", Value: string(r.Verdict)}, {Name: "backend", Value: r.Backend},
		{Name: "randomSeed", Value: strconv.FormatUint(r.RandomSeed, 10)}}
	for name, value := range r.Measures.Numbers() {
		all = append(all, junit.Property{Name: name, Value: strconv.FormatFloat(value, 'g', -1, 64)})
	}
	return all
}

// steps are test cases, and so is what was set up before the first of them. If the run ended in an error before, that
// is its error.
func (s *suite) steps(events []timeline.Event) {
	setUp := junit.Case{Class: s.Name, Name: "set up"}
	first, _, begun := timeline.First[timeline.StepStarted](events)
	if begun {
		setUp.Time = measure.Seconds(first.At)
		s.Cases = append(s.Cases, setUp)
	} else if end, ended, _ := timeline.First[timeline.RunEnded](events); ended.Error != "" {
		setUp.Time, setUp.Error = measure.Seconds(end.At), junit.Because(ended.Error)
		s.Cases = append(s.Cases, setUp)
	}
	var started timeline.Event
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			started = e
		case timeline.StepEnded:
			c := junit.Case{Class: s.Name, Name: fmt.Sprintf("step %d: %s", p.Index+1, p.Text),
				Time: measure.Seconds(e.At - started.At)}
			switch p.Outcome {
			case timeline.StepUnmet:
				c.Failure = junit.Because(p.Message)
			case timeline.StepFailed:
				c.Error = junit.Because(p.Message)
			case timeline.StepUnknown:
				c.Skipped = junit.Because(p.Message)
			}
			s.Cases = append(s.Cases, c)
		}
	}
}

func (s *suite) promise(r *Report, p Promise, events []timeline.Event) {
	c := junit.Case{Class: s.Name, Name: p.Name}
	begun, _, settling := timeline.First[timeline.Settling](events)
	if ended, _, settled := timeline.First[timeline.Settled](events); p.Name == Settle && settling && settled {
		c.Time = measure.Seconds(ended.At - begun.At)
	}
	if len(p.Unseen) > 0 {
		c.Skipped = unseenProblem(p.Unseen)
	}
	s.judged(r, c, func(v Violation) bool { return v.Oracle == p.Name })
}

func unseenProblem(unseen []string) *junit.Problem {
	text := "nobody has seen " + strings.Join(unseen, "\nnobody has seen ")
	return junit.Because(text)
}

func (s *suite) objective(r *Report, o Objective) {
	c := junit.Case{Class: s.Name, Name: "measure " + o.Measure}
	if o.Measured == nil {
		text := fmt.Sprintf("could not be measured; the goal is at most %g", o.Max)
		c.Error = junit.Because(text)
	}
	if len(o.Unseen) > 0 {
		c.Skipped = unseenProblem(o.Unseen)
	}
	s.judged(r, c, func(v Violation) bool { return v.Measure == o.Measure })
}

// judged adds a test case that fails with the violations that are its own.
func (s *suite) judged(r *Report, c junit.Case, own func(Violation) bool) {
	var found []string
	for _, v := range r.Violations {
		if own(v) {
			found = append(found, fmt.Sprintf("at %gs: %s", v.At, v.Message))
		}
	}
	if len(found) > 0 {
		c.Failure = &junit.Problem{Message: found[0], Text: strings.Join(found, "\n")}
	}
	s.Cases = append(s.Cases, c)
}
