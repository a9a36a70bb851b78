package verdict

import (
	"encoding/xml"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// suite and its parts are JUnit's format, as CI systems read it.
type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     float64    `xml:"time,attr"`
	Measured []property `xml:"properties>property"`
	Cases    []testCase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    float64  `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// suiteOf makes a test case of each step, each promise and each goal; a run whose verdict is Error or Inconclusive has
// one in error. An expectation, a promise or a goal that nobody has seen enough of is skipped, the latter two unless
// they were broken all the same. Properties contain everything that was measured.
func suiteOf(r *Report, events []timeline.Event) suite {
	s := suite{Name: r.Scenario, Time: r.WallSeconds, Measured: propertiesOf(r)}
	s.steps(events)
	for _, p := range PromisesOf(r, events) {
		if p.Name != Expect && p.Name != Goal { // whose steps and measures have cases of their own
			s.promise(r, p)
		}
	}
	for _, o := range r.Objectives {
		s.objective(r, o)
	}
	if r.Verdict == Error || r.Verdict == Inconclusive {
		text := strings.Join(r.Reasons, "\n")
		s.Cases = append(s.Cases, testCase{Class: r.Scenario, Name: string(r.Verdict),
			Error: &problem{firstLine(text), text}})
	}
	for _, c := range s.Cases {
		s.Tests++
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
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

func propertiesOf(r *Report) []property {
	all := []property{{"verdict", string(r.Verdict)}, {"backend", r.Backend},
		{"randomSeed", strconv.FormatUint(r.RandomSeed, 10)}}
	for name, value := range r.Measures.Numbers() {
		all = append(all, property{name, strconv.FormatFloat(value, 'g', -1, 64)})
	}
	return all
}

func (s *suite) steps(events []timeline.Event) {
	var started timeline.Event
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			started = e
		case timeline.StepEnded:
			c := testCase{Class: s.Name, Name: fmt.Sprintf("step %d: %s", p.Index+1, p.Text),
				Time: measure.Seconds(e.At - started.At)}
			switch p.Outcome {
			case timeline.StepUnmet:
				c.Failure = &problem{firstLine(p.Message), p.Message}
			case timeline.StepFailed:
				c.Error = &problem{firstLine(p.Message), p.Message}
			case timeline.StepUnknown:
				c.Skipped = &problem{firstLine(p.Message), p.Message}
			}
			s.Cases = append(s.Cases, c)
		}
	}
}

func (s *suite) promise(r *Report, p Promise) {
	c := testCase{Class: s.Name, Name: p.Name}
	if len(p.Unseen) > 0 {
		c.Skipped = unseenProblem(p.Unseen)
	}
	s.judged(r, c, func(v Violation) bool { return v.Oracle == p.Name })
}

func unseenProblem(unseen []string) *problem {
	text := "nobody has seen " + strings.Join(unseen, "\nnobody has seen ")
	return &problem{firstLine(text), text}
}

func (s *suite) objective(r *Report, o Objective) {
	c := testCase{Class: s.Name, Name: "measure " + o.Measure}
	if o.Measured == nil {
		text := fmt.Sprintf("could not be measured; the goal is at most %g", o.Max)
		c.Error = &problem{text, text}
	}
	if len(o.Unseen) > 0 {
		c.Skipped = unseenProblem(o.Unseen)
	}
	s.judged(r, c, func(v Violation) bool { return v.Measure == o.Measure })
}

// judged adds a test case that fails with the violations that are its own.
func (s *suite) judged(r *Report, c testCase, own func(Violation) bool) {
	var found []string
	for _, v := range r.Violations {
		if own(v) {
			found = append(found, fmt.Sprintf("at %gs: %s", v.At, v.Message))
		}
	}
	if len(found) > 0 {
		c.Failure = &problem{found[0], strings.Join(found, "\n")}
	}
	s.Cases = append(s.Cases, c)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
