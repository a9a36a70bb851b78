// Package verdict judges a run: it gathers what oracles, expectations and measures say about a timeline into one
// verdict, and writes it for people and machines. It is a pure function of the timeline, so that an old run can be
// judged again; it never looks at a landscape.
package verdict

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Verdict about a run.
type Verdict string

// Verdicts, and what they mean (docs/ci.md).
const (
	Passed       Verdict = "Passed"       // every promise was kept
	Failed       Verdict = "Failed"       // the product broke a promise
	Error        Verdict = "Error"        // the run could not be carried out
	Inconclusive Verdict = "Inconclusive" // a fault that hit nothing, or evidence that is missing
)

// formerWords are the verdicts in the files of earlier versions.
var formerWords = map[string]Verdict{"Held": Passed, "Violated": Failed, "Broken": Error}

// UnmarshalText reads a verdict, and the words Held, Violated and Broken of earlier versions as Passed, Failed and
// Error. Any other word is an error that lists the verdicts.
func (v *Verdict) UnmarshalText(text []byte) error {
	read := Verdict(text)
	if now, former := formerWords[string(text)]; former {
		read = now
	}
	if !slices.Contains(gravity, read) {
		return fmt.Errorf("unknown verdict %q, must be one of %v", text, gravity)
	}
	*v = read
	return nil
}

// ExitCode of a program that ends with this verdict.
func (v Verdict) ExitCode() int {
	switch v {
	case Passed:
		return 0
	case Failed:
		return 1
	case Error:
		return 2
	default:
		return 3
	}
}

// gravity orders verdicts: of several the gravest wins.
var gravity = []Verdict{Passed, Inconclusive, Error, Failed}

// Worst of several verdicts: Failed, then Error, then Inconclusive.
func Worst(all ...Verdict) Verdict {
	worst := Passed
	for _, v := range all {
		if slices.Index(gravity, v) > slices.Index(gravity, worst) {
			worst = v
		}
	}
	return worst
}

// Names under which promises that are no oracles stand among the violations.
const (
	Expect = "expect"
	Goal   = "measure"
	Settle = "settle"
)

// Report is what verdict.json holds.
type Report struct {
	Scenario    string           `json:"scenario"`
	Backend     string           `json:"backend"`
	RandomSeed  uint64           `json:"randomSeed"`
	Verdict     Verdict          `json:"verdict"`
	Violations  []Violation      `json:"violations"`
	Measures    measure.Measures `json:"measures"`
	Faults      []Fault          `json:"faults"`
	WallSeconds float64          `json:"wallSeconds"`
	// Started is when the run began; zero if only its events are known.
	Started time.Time `json:"started,omitzero"`
	// Extensions are the third-party extensions of the run, by their names.
	Extensions []string `json:"extensions,omitempty"`
	// ExtensionFiles are theirs, as they were given.
	ExtensionFiles []string `json:"extensionFiles,omitempty"`
	// Objectives are the goals of the scenario, in the order of its fields; absent when it has none.
	Objectives []Objective `json:"objectives,omitempty"`
	// AtDefaults is what the recovery would take at the product's default settings; absent when there was none.
	AtDefaults *measure.AtDefaults `json:"atDefaults,omitempty"`
	// Reasons why the verdict is Error or Inconclusive, or why the run was cut short after a violation; absent otherwise.
	Reasons []string `json:"reasons,omitempty"`
	// NotJudged is what the record does not hold what it takes to judge it again: its outcome is the one that the run has
	// recorded. Absent when all was judged.
	NotJudged []string `json:"notJudged,omitempty"`
	// Promises that the run was judged by: the names of the oracles.
	Promises []string `json:"promises,omitempty"`
	// Unseen is, by promise, what its oracle must have seen before it can be said that the promise was kept; those that
	// saw all of it are left out.
	Unseen map[string][]string `json:"unseen,omitempty"`
	// TimeoutMultiplier of the run, where it was not 1.
	TimeoutMultiplier float64 `json:"timeoutMultiplier,omitempty"`
	// Unwatched says that the run had no probes but its loads.
	Unwatched bool `json:"unwatched,omitempty"`
	// BackendFlags are the options of the backend, as flags; absent when there were none.
	BackendFlags []string `json:"backendFlags,omitempty"`
}

// Violation is a broken promise.
type Violation struct {
	Oracle  string  `json:"oracle"` // or expect, measure, settle
	At      float64 `json:"at"`     // seconds since the start of the run
	Message string  `json:"message"`
	// Measure whose goal was missed; absent for other promises.
	Measure string `json:"measure,omitempty"`
	// Events that prove it, by their numbers in the timeline.
	Events []int `json:"events,omitempty"`
}

// Objective is the goal for a measure.
type Objective struct {
	// Measure as the scenario names it, such as rto.
	Measure string `json:"measure"`
	// Max is the most it may be, in seconds or a count.
	Max float64 `json:"max"`
	// Measured is what it was, or, of a recovery that was not seen to end, at least; absent when it could not be measured.
	Measured *float64 `json:"measured,omitempty"`
	// Unseen is what must have been seen as well before it can be said that the goal was reached; absent when nothing is
	// missing.
	Unseen []string `json:"unseen,omitempty"`
}

// Missed says whether more was measured than may be, and nothing is unseen that could change that.
func (o Objective) Missed() bool {
	return o.Measured != nil && *o.Measured > o.Max && len(o.Unseen) == 0
}

// ErrNoRun says that a timeline does not begin with the start of a run.
var ErrNoRun = errors.New("the timeline holds no run")

// Begin the report of a run: what is run, and how, without any judgement.
func Begin(started timeline.RunStarted) *Report {
	r := &Report{
		Scenario: started.Scenario, Backend: started.Backend, RandomSeed: started.RandomSeed, Extensions: started.Extensions,
		ExtensionFiles: started.ExtensionFiles,
		Unwatched:      started.Unwatched, BackendFlags: started.BackendFlags, Violations: []Violation{}, Faults: []Fault{},
	}
	if started.TimeoutMultiplier != 1 {
		r.TimeoutMultiplier = started.TimeoutMultiplier
	}
	return r
}

// Judge a run by its timeline.
func Judge(events []timeline.Event) (*Report, error) {
	_, started, found := timeline.First[timeline.RunStarted](events)
	if !found {
		return nil, ErrNoRun
	}
	definition := &scenario.Scenario{}
	if err := json.Unmarshal(started.Definition, definition); err != nil {
		return nil, fmt.Errorf("read the scenario in the timeline: %w", err)
	}
	r := Begin(started)
	r.Measures, r.WallSeconds = measure.Of(events), measure.Seconds(events[len(events)-1].At)
	r.AtDefaults = measure.Defaults(events, definition.Spec.Landscape.Settings)
	errs, idle := r.judgeRun(events), r.judgeFaults(events)
	lacks := []string{"nobody watched: the run was started with --unwatched, to learn what watching costs"}
	if !started.Unwatched {
		lacks = append(r.judgePromises(events, definition), r.judgeGoals(events, definition.Spec.Measure, len(errs) == 0)...)
	}
	for _, what := range oracle.UnservedLoads(events) {
		lacks = append(lacks, "the run has not seen "+what)
	}
	for _, what := range unseenSteps(events, definition) {
		lacks = append(lacks, Expect+" has not seen "+what)
	}
	for _, what := range unseenSettled(events) {
		lacks = append(lacks, Settle+" has not seen "+what)
	}
	for _, shoot := range neverReady(events, definition) {
		lacks = append(lacks, "the run has not seen that the shoot "+shoot+" was ready before the first step")
	}
	gaps, unwatched := oracle.Unwatched(events), []string(nil)
	for _, gap := range gaps {
		unwatched = append(unwatched, "nobody has seen "+gap.What)
	}
	lacks = append(append(lacks, unwatched...), r.doubt(events, gaps)...)
	unsound := append(oracle.Unsound(events), r.judgeAgain(events, definition, started.Observed)...)
	if len(unsound) > 0 { // an error of the harness, and no verdict on the product
		r.Violations = []Violation{}
		r.doubtGoals("whether it would have been missed, by a record that does not contradict itself")
		errs = append(unsound, errs...)
	}
	r.moot(slices.Concat(errs, idle, unwatched))
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	switch {
	case len(r.Violations) > 0:
		r.Verdict, r.Reasons = Failed, errs
	case len(errs) > 0:
		r.Verdict, r.Reasons = Error, errs
	case len(lacks)+len(idle) > 0:
		r.Verdict, r.Reasons = Inconclusive, append(idle, lacks...)
	default:
		r.Verdict = Passed
	}
	return r, nil
}

// neverReady are the shoots that the scenario has from its beginning and that nobody has seen ready by its first step.
func neverReady(events []timeline.Event, definition *scenario.Scenario) (shoots []string) {
	ready := map[string]bool{}
	for _, e := range events {
		if _, is := e.Payload.(timeline.StepStarted); is {
			break
		}
		if _, is := e.Payload.(timeline.ShootReady); is {
			ready[e.Subject] = true
		}
	}
	later := step.Later(definition.Spec.Steps)
	for _, shoot := range definition.Spec.Landscape.Shoots {
		if !ready[shoot.Name] && !later[shoot.Name] {
			shoots = append(shoots, shoot.Name)
		}
	}
	return shoots
}

func (r *Report) violate(oracle string, at time.Duration, message string, proof ...int) {
	r.Violations = append(r.Violations, Violation{Oracle: oracle, At: measure.Seconds(at), Message: message,
		Events: proof})
}

// judgeRun finds expectations that were not met, and why the run could not be carried out.
func (r *Report) judgeRun(events []timeline.Event) (errs []string) {
	ended := false
	var rest []timeline.Event
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepEnded:
			switch p.Outcome {
			case timeline.StepUnmet:
				r.violate(Expect, e.At, fmt.Sprintf("step %d: %s", p.Index+1, p.Message), e.Seq)
			case timeline.StepFailed:
				errs = append(errs, fmt.Sprintf("step %d, %s: %s", p.Index+1, p.Text, p.Message))
			}
		case timeline.FaultHealed:
			if p.Error != "" {
				errs = append(errs, p.Error)
			}
		case timeline.Settled:
			rest = append(rest, e)
		case timeline.RunEnded:
			ended = true
			if more := beyond(p.Error, errs); more != "" {
				errs = append(errs, more)
			}
		}
	}
	if !ended {
		errs = append(errs, "the record ends before the run does")
	}
	if len(errs) == 0 {
		r.judgeSettled(rest)
	}
	return errs
}

// judgeSettled finds what had not settled in time. Settling is owed from the last heal on. It is not owed where a fault
// could not be injected or healed, where a step was not carried out, or where the record ends too early to say so.
func (r *Report) judgeSettled(settled []timeline.Event) {
	for _, e := range settled {
		for _, what := range e.Payload.(timeline.Settled).Waiting {
			r.violate(Settle, e.At, what, e.Seq)
		}
	}
}

// beyond is what a run's last error, one line or more for each error, says that was not reported before.
func beyond(last string, reported []string) string {
	for _, one := range reported {
		last = strings.TrimPrefix(strings.TrimPrefix(last, one), "\n")
	}
	return last
}

func (r *Report) judgePromises(events []timeline.Event, definition *scenario.Scenario) (lacks []string) {
	for _, name := range definition.Spec.Always {
		o, known := oracle.Find(string(name))
		if !known {
			lacks = append(lacks, fmt.Sprintf("%s: there is no oracle of this name", name))
			continue
		}
		r.Promises = append(r.Promises, string(name))
		violations := o.Judge(events)
		for _, v := range violations {
			r.violate(v.Oracle, v.At, v.Message, v.Events...)
		}
		if len(violations) > 0 {
			continue // it takes no more evidence that it was broken
		}
		for _, what := range oracle.Unseen(o, events) {
			lacks = append(lacks, fmt.Sprintf("%s has not seen %s", name, what))
			r.lack(string(name), what)
		}
	}
	return lacks
}

// lack notes evidence that is missing for a promise.
func (r *Report) lack(promise, what string) {
	if r.Unseen == nil {
		r.Unseen = map[string][]string{}
	}
	r.Unseen[promise] = append(r.Unseen[promise], what)
}

// doubt takes back what promises and goals have against the product where a probe did not look: what is missing may be
// what it would have seen. What a step has found stays, for it has looked itself, and so does what an oracle had found
// before the probe stopped looking. All that is taken back is reported.
func (r *Report) doubt(events []timeline.Event, gaps []oracle.Gap) (lacks []string) {
	if len(gaps) == 0 {
		return nil
	}
	all := r.Violations
	r.Violations = slices.DeleteFunc(slices.Clone(all), func(v Violation) bool {
		return v.Oracle != Expect && v.Oracle != Settle
	})
	for _, name := range r.Promises {
		o, _ := oracle.Find(name)
		for _, v := range oracle.Certain(o, events, gaps) {
			r.violate(v.Oracle, v.At, v.Message, v.Events...)
		}
	}
	for _, v := range all {
		isLeft := func(left Violation) bool { return left.Oracle == v.Oracle && left.Message == v.Message }
		if !slices.ContainsFunc(r.Violations, isLeft) {
			lacks = append(lacks, "it is unknown whether this is so: "+v.Oracle+": "+v.Message)
		}
	}
	r.doubtGoals("whether it would have been missed with every look")
	return lacks
}

// moot takes from every promise and every goal that was not broken that it was kept, for these reasons: a run that did
// not get to its end, in which nobody looked for a time, or of which a fault hit nothing, shows nothing.
func (r *Report) moot(reasons []string) {
	for _, why := range reasons {
		what := "the run as it was to be: " + why
		for _, name := range r.Promises {
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Oracle == name }) {
				r.lack(name, what)
			}
		}
		for i := range r.Objectives {
			if o := &r.Objectives[i]; o.Measured != nil && !o.Missed() {
				o.Unseen = append(o.Unseen, what)
			}
		}
	}
}

// judgeFaults finds the faults that hit nothing, and those whose moment never came.
func (r *Report) judgeFaults(events []timeline.Event) (idle []string) {
	begun := map[string]bool{}
	for e, p := range timeline.Of[timeline.FaultInjected](events) {
		begun[e.Subject] = true
		fault := Fault{Name: e.Subject}
		for healed, h := range timeline.Of[timeline.FaultHealed](events) {
			if healed.Subject == e.Subject {
				fault.Hits = h.Hits
			}
		}
		r.Faults = append(r.Faults, fault)
		if fault.Hits == 0 {
			idle = append(idle, fmt.Sprintf("the fault %q, %s, hit nothing", fault.Name, p.Fault))
		}
	}
	for e, p := range timeline.Of[timeline.FaultAwaited](events) {
		if !begun[e.Subject] {
			r.Faults = append(r.Faults, Fault{Name: e.Subject})
			idle = append(idle, fmt.Sprintf("the fault %q, %s, has not begun: it waits for %s", e.Subject, p.Fault, p.When))
		}
	}
	return idle
}
