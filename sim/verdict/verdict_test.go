package verdict_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

func run(always, measure string, payloads ...timeline.Payload) []timeline.Event {
	spec := `{"metadata":{"name":"tale"},"spec":{"why":"x","landscape":{"seeds":[{"name":"a"}]},"steps":[],"always":[` +
		always + `],"measure":{` + measure + `}}}`
	all := append([]timeline.Payload{timeline.RunStarted{Scenario: "tale", Backend: "small", RandomSeed: 3,
		Definition: json.RawMessage(spec)}}, atRest(payloads)...)
	var events []timeline.Event
	for i, p := range all {
		e := timeline.Event{Seq: i + 1, At: time.Duration(i) * time.Second, Kind: p.Kind(), Subject: "alpha", Payload: p}
		events = append(events, e)
	}
	return events
}

// atRest has a run that gets to its end settle before it, unless it says itself how it settles.
func atRest(payloads []timeline.Payload) []timeline.Payload {
	says := slices.ContainsFunc(payloads, func(p timeline.Payload) bool { return p.Kind() == timeline.Settled{}.Kind() })
	last := len(payloads) - 1
	if says || last < 0 {
		return payloads
	}
	if end, is := payloads[last].(timeline.RunEnded); !is || end.Error != "" {
		return payloads
	}
	return append(slices.Clone(payloads[:last]), timeline.Settled{Converged: true}, payloads[last])
}

func unwatched(events []timeline.Event) []timeline.Event {
	started := events[0].Payload.(timeline.RunStarted)
	started.Unwatched = true
	events[0].Payload = started
	return events
}

func step(outcome timeline.StepOutcome, message string) timeline.Payload {
	return timeline.StepEnded{Index: 1, Verb: "expect", Text: "expect much", Outcome: outcome, Message: message}
}

var (
	ended    = timeline.RunEnded{}
	steady   = timeline.ShootReady{TechnicalID: "shoot--p--alpha"}
	restores = timeline.ShootSeen{SpecSeed: "b", StatusSeed: "b", Operation: timeline.Operation{Type: "Restore",
		State: "Processing"}}
	rebound = timeline.ShootSeen{SpecSeed: "b", StatusSeed: "a", Operation: timeline.Operation{Type: "Migrate",
		State: "Error"}}
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events     []timeline.Event
		want       verdict.Verdict
		violations []string // by oracle
		reason     string
	}{
		"all is well": {events: run("", "", step(timeline.StepDone, ""), timeline.Settled{Converged: true},
			ended), want: verdict.Passed},
		"an expectation is not met": {events: run("", "", step(timeline.StepUnmet, "not met within 1s"), ended),
			want: verdict.Failed, violations: []string{"expect"}},
		"nobody sees whether it is met": {events: run("", "", step(timeline.StepUnknown, "not known within 1s"),
			timeline.Settled{Converged: true}, ended), want: verdict.Inconclusive,
			reason: "expect has not seen how step 2 ends: not known within 1s"},
		"rest is owed all the same": {events: run("", "", step(timeline.StepUnknown, "not known within 1s"),
			timeline.Settled{Waiting: []string{"alpha is not well"}}, ended), want: verdict.Failed,
			violations: []string{"settle"}},
		"a step fails": {events: run("", "", step(timeline.StepFailed, "refused"), ended), want: verdict.Error,
			reason: "step 2, expect much: refused"},
		"an oracle finds something": {events: run(`"MigrationEnds"`, "", steady, rebound, ended), want: verdict.Failed,
			violations: []string{"MigrationEnds"}},
		"an oracle sees nothing": {events: run(`"MigrationEnds"`, "", steady, ended), want: verdict.Inconclusive,
			reason: "MigrationEnds has not seen the Shoot alpha in the garden"},
		"it does not settle": {events: run("", "", timeline.Settled{Waiting: []string{"alpha is not well"}}, ended),
			want: verdict.Failed, violations: []string{"settle"}},
		"it cannot be seen to settle": {events: run("", "",
			timeline.Settled{Unknown: []string{"the shoot alpha cannot be read"}}, ended), want: verdict.Inconclusive,
			reason: "settle has not seen whether all has settled: the shoot alpha cannot be read"},
		"something moves, something else cannot be seen": {events: run("", "",
			timeline.Settled{Waiting: []string{"alpha is not well"}, Unknown: []string{"seed b cannot be read"}}, ended),
			want: verdict.Failed, violations: []string{"settle"}},
		"no rest is owed where a fault was not healed": {events: run("", "", timeline.FaultInjected{Fault: "loss"},
			timeline.FaultHealed{Hits: 1, Error: "return cluster a: not ready within 2m0s"},
			timeline.Settled{Waiting: []string{"alpha is not well"}},
			timeline.RunEnded{Error: "return cluster a: not ready within 2m0s"}),
			want: verdict.Error, reason: "return cluster a: not ready within 2m0s"},
		"nor where a step failed in the middle": {events: run("", "", step(timeline.StepFailed, "inject: refused"),
			timeline.Settled{Waiting: []string{"alpha is not well"}},
			timeline.RunEnded{Error: "step 2, expect much: inject: refused"}),
			want: verdict.Error, reason: "step 2, expect much: inject: refused"},
		"nor when it was interrupted meanwhile": {events: run("", "",
			timeline.Settled{Waiting: []string{"alpha is not well"}},
			timeline.RunEnded{Error: "the run was interrupted: interrupt"}),
			want: verdict.Error, reason: "the run was interrupted: interrupt"},
		"it is owed where an expectation was not met": {events: run("", "", step(timeline.StepUnmet, "late"),
			timeline.Settled{Waiting: []string{"alpha is not well"}}, ended),
			want: verdict.Failed, violations: []string{"expect", "settle"}},
		"nor where the record is cut off": {events: run("", "", timeline.Settled{Waiting: []string{"alpha is not well"}}),
			want: verdict.Error, reason: "the record ends before the run does"},
		"a fault that hit nothing": {events: run("", "", timeline.FaultInjected{Fault: "cut"}, timeline.FaultHealed{},
			ended), want: verdict.Inconclusive, reason: `the fault "alpha", cut, hit nothing`},
		"a fault whose moment never came": {
			events: run("", "", timeline.FaultAwaited{Fault: "cut", When: "late"}, ended), want: verdict.Inconclusive,
			reason: `the fault "alpha", cut, has not begun: it waits for late`,
		},
		"a fault that has waited": {events: run("", "", timeline.FaultAwaited{Fault: "cut"},
			timeline.FaultInjected{Fault: "cut"}, timeline.FaultHealed{Hits: 1}, ended), want: verdict.Passed},
		"a fault that was not healed": {events: run("", "", timeline.FaultInjected{Fault: "cut"},
			timeline.FaultHealed{Hits: 1, Error: "heal: stuck"}, ended), want: verdict.Error, reason: "heal: stuck"},
		"nobody watched": {events: unwatched(run(`"MigrationEnds"`, "", steady, rebound, ended)),
			want:   verdict.Inconclusive,
			reason: "nobody watched: the run was started with --unwatched, to learn what watching costs"},
		"the record is torn": {events: run("", "", step(timeline.StepDone, "")), want: verdict.Error,
			reason: "the record ends before the run does"},
		"a step that failed is reported once": {
			events: run("", "", step(timeline.StepFailed, "refused"), timeline.RunEnded{Error: "step 2, expect much: refused"}),
			want:   verdict.Error, reason: "step 2, expect much: refused",
		},
		"what came after it is reported as well": {
			events: run("", "", step(timeline.StepFailed, "refused"),
				timeline.RunEnded{Error: "step 2, expect much: refused\nno finale"}),
			want: verdict.Error, reason: "step 2, expect much: refused; no finale",
		},
		"the run broke": {events: run("", "", timeline.RunEnded{Error: "no landscape"}), want: verdict.Error,
			reason: "no landscape"},
		"Failed wins over Error": {events: run("", "", step(timeline.StepUnmet, "late"),
			timeline.RunEnded{Error: "no landscape"}), want: verdict.Failed, violations: []string{"expect"},
			reason: "no landscape"},
		"Error wins over a fault that hit nothing": {events: run("", "", timeline.FaultInjected{},
			timeline.RunEnded{Error: "no landscape"}), want: verdict.Error, reason: "no landscape"},
		"a goal is missed": {
			events: run("", `"apiDowntime":{"max":"1s"}`, restores, steady, reached(3, timeline.Failed),
				reached(4, timeline.Failed), reached(5, timeline.Acknowledged), ended),
			want: verdict.Failed, violations: []string{"measure"},
		},
		"a goal is reached": {
			events: run("", `"apiDowntime":{"max":"10s"}`, restores, steady, reached(3, timeline.Failed),
				reached(4, timeline.Failed), reached(5, timeline.Acknowledged), ended),
			want: verdict.Passed,
		},
		"a goal was not measured": {events: run("", `"rto":{"max":"1s"}`, steady, ended), want: verdict.Inconclusive,
			reason: "the goal for rto could not be measured"},
		"a herd": {events: run("", `"restoresAtOnce":{"max":0}`, steady, restores, ended),
			want: verdict.Failed, violations: []string{"measure"}},
		"no herd": {events: run("", `"restoresAtOnce":{"max":1}`, steady, restores, ended),
			want: verdict.Passed},
		"a herd of no restore": {events: run("", `"restoresAtOnce":{"max":1}`, steady, ended), want: verdict.Inconclusive,
			reason: "the goal for restoresAtOnce could not be measured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := verdict.Judge(c.events)
			if err != nil {
				t.Fatal(err)
			}
			var oracles []string
			for _, v := range r.Violations {
				oracles = append(oracles, v.Oracle)
			}
			if diff := cmp.Diff(c.violations, oracles); diff != "" || r.Verdict != c.want {
				t.Errorf("verdict %s, want %s; violations (-want +got):\n%s", r.Verdict, c.want, diff)
			}
			if reasons := strings.Join(r.Reasons, "; "); reasons != c.reason {
				t.Errorf("reasons %q, want %q", reasons, c.reason)
			}
		})
	}
}

func TestPromisesThatNobodyCouldJudgeAreNotKept(t *testing.T) {
	t.Parallel()
	settled := timeline.Settled{Converged: true}
	two := func(events []timeline.Event) []timeline.Event { // steps
		started := events[0].Payload.(timeline.RunStarted)
		started.Definition = json.RawMessage(strings.Replace(string(started.Definition), `"steps":[]`, `"steps":[{},{}]`, 1))
		events[0].Payload = started
		return events
	}
	for name, c := range map[string]struct {
		events []timeline.Event
		want   string
	}{
		"all is seen": {run(`"MigrationEnds"`, `"apiDowntime":{"max":"9s"}`, steady, restores,
			reached(1, timeline.Acknowledged), settled, ended), "MigrationEnds 0 [], expect 0 [], measure 0 [], settle 0 []"},
		"inconclusive": {run(`"MigrationEnds"`, `"rto":{"max":"1s"}`, steady, settled, ended),
			"MigrationEnds 0 [the Shoot alpha in the garden], expect 0 [], measure 0 [what the goal for rto is about], " +
				"settle 0 []"},
		"a goal of one shoot": {run("", `"apiDowntime":{"max":"0s"}`, restores, steady, reached(1, timeline.Acknowledged),
			timeline.Settling{}, settled, ended),
			"expect 0 [], measure 0 [whether alpha could be reached for 3s of the run (the longest part from 2s to 5s), for " +
				"the goal for apiDowntime], settle 0 []"},
		"rest not owed": {run("", "", timeline.Settled{Waiting: []string{"alpha"}},
			timeline.RunEnded{Error: "interrupted"}),
			"expect 0 [], settle 0 [whether the landscape settles once every step is done]"},
		"rest not known": {run("", "", timeline.Settled{Unknown: []string{"alpha"}}, ended),
			"expect 0 [], settle 0 [whether all has settled: alpha]"},
		"cut short": {two(run("", "", step(timeline.StepDone, ""), step(timeline.StepFailed, "refused"), ended)),
			"expect 0 [1 of the 2 steps done], settle 0 []"},
		"interrupted": {run("", "", timeline.RunEnded{Error: "interrupted"}),
			"expect 0 [], settle 0 [whether the landscape settled]"},
		"unwatched": {unwatched(run(`"MigrationEnds"`, `"rto":{"max":"1s"}`, steady, rebound, settled, ended)),
			"MigrationEnds 0 [anything: the run was started with --unwatched], expect 0 [], measure 0 [what the goals are " +
				"about], settle 0 []"},
		"a step not known": {two(run("", "", step(timeline.StepDone, ""), step(timeline.StepUnknown, "late"), settled,
			ended)), "expect 0 [how step 2 ends: late], settle 0 []"},
		"broken all the same": {two(run(`"MigrationEnds"`, "", steady, rebound, step(timeline.StepUnmet, "late"), ended)),
			"MigrationEnds 1 [], expect 1 [], settle 0 []"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := verdict.Judge(c.events)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range verdict.PromisesOf(r, c.events) {
				got = append(got, fmt.Sprintf("%s %d %v", p.Name, p.Violations, p.Unseen))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("promises (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMissedGoalIsProvedByWhereTheOutageBeganAndEnded(t *testing.T) {
	t.Parallel()
	events := run("", `"apiDowntime":{"max":"1s"}`, restores, steady, reached(3, timeline.Acknowledged),
		reached(4, timeline.Failed), reached(5, timeline.Failed), reached(6, timeline.Acknowledged), ended)
	r, err := verdict.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 {
		t.Fatalf("violations %+v", r.Violations)
	}
	var at []timeline.Moment
	for _, seq := range r.Violations[0].Events {
		at = append(at, events[seq-1].Payload.(timeline.Reached).Answered)
	}
	if diff := cmp.Diff([]timeline.Moment{timeline.Moment(3 * time.Second), timeline.Moment(6 * time.Second)},
		at); diff != "" {
		t.Errorf("the last good answer before, and the first after (-want +got):\n%s", diff)
	}
}

func TestTooManyRestoresAreProvedByWhereEachBegan(t *testing.T) {
	t.Parallel()
	events := run("", `"restoresAtOnce":{"max":1}`, steady, restores, ended)
	at := slices.IndexFunc(events, func(e timeline.Event) bool {
		return e.Payload.Kind() == timeline.ShootSeen{}.Kind()
	}) + 1
	other := events[at-1]
	other.Subject = "beta"
	events = slices.Insert(events, at, other)
	for i := range events {
		events[i].Seq = i + 1
	}
	r, err := verdict.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 1 || r.Violations[0].Measure != "restoresAtOnce" {
		t.Fatalf("violations %+v", r.Violations)
	}
	if diff := cmp.Diff([]int{at, at + 1}, r.Violations[0].Events); diff != "" {
		t.Errorf("the proof (-want +got):\n%s", diff)
	}
}

func reached(second int, outcome timeline.Outcome) timeline.Payload {
	at := timeline.Moment(time.Duration(second) * time.Second)
	return timeline.Reached{Outcome: outcome, Sent: at, Answered: at}
}

func TestNoRun(t *testing.T) {
	t.Parallel()
	if _, err := verdict.Judge(nil); !errors.Is(err, verdict.ErrNoRun) {
		t.Errorf("error %v", err)
	}
}

func TestExitCodesAndPrecedence(t *testing.T) {
	t.Parallel()
	codes := map[verdict.Verdict]int{verdict.Passed: 0, verdict.Failed: 1, verdict.Error: 2, verdict.Inconclusive: 3}
	for v, code := range codes {
		if v.ExitCode() != code {
			t.Errorf("%s exits with %d", v, v.ExitCode())
		}
	}
	for _, c := range []struct {
		all  []verdict.Verdict
		want verdict.Verdict
	}{
		{nil, verdict.Passed},
		{[]verdict.Verdict{verdict.Inconclusive, verdict.Passed}, verdict.Inconclusive},
		{[]verdict.Verdict{verdict.Inconclusive, verdict.Error, verdict.Passed}, verdict.Error},
		{[]verdict.Verdict{verdict.Error, verdict.Failed, verdict.Inconclusive}, verdict.Failed},
	} {
		if got := verdict.Worst(c.all...); got != c.want {
			t.Errorf("worst of %v is %s, want %s", c.all, got, c.want)
		}
	}
}

func TestVerdict_WordInAFile_IsRead(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]verdict.Verdict{
		"Passed": verdict.Passed, "Failed": verdict.Failed, "Error": verdict.Error, "Inconclusive": verdict.Inconclusive,
		"Held": verdict.Passed, "Violated": verdict.Failed, "Broken": verdict.Error,
	} {
		var read verdict.Report
		if err := json.Unmarshal([]byte(`{"verdict":"`+word+`"}`), &read); err != nil || read.Verdict != want {
			t.Errorf("%s is read as %s, %v", word, read.Verdict, err)
		}
	}
	for _, word := range []string{"", "held", "passed", "Fine"} {
		var read verdict.Report
		err := json.Unmarshal([]byte(`{"verdict":"`+word+`"}`), &read)
		want := `unknown verdict "` + word + `", must be one of [Passed Inconclusive Error Failed]`
		if err == nil || err.Error() != want || read.Verdict != "" {
			t.Errorf("%q is read as %q, %v", word, read.Verdict, err)
		}
	}
}

func TestTheCommandCanBePasted(t *testing.T) {
	t.Parallel()
	const want = `transplant run 'my runs/scenario.yaml' --backend embedded --seed 7 --timeout-multiplier 2.5 ` +
		`--unwatched '--bucket-url=s3://b?region=x' --extension 'it'"'"'s mine.yaml'`
	r := verdict.Begin(timeline.RunStarted{
		Backend: "embedded", RandomSeed: 7, TimeoutMultiplier: 2.5, Unwatched: true,
		BackendFlags: []string{"--bucket-url=s3://b?region=x"}, ExtensionFiles: []string{"it's mine.yaml"},
	})
	if got := r.Again("my runs"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := verdict.Begin(timeline.RunStarted{RandomSeed: 7, TimeoutMultiplier: 1}).Flags(); got != "--seed 7" {
		t.Errorf("with nothing but its seed the run has the flags %s", got)
	}
}

// The form of verdict.json is a contract with programs that read it.
func TestTheFilesOfAVerdict(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "timeline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	now := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	journal := timeline.NewJournal(now, file)
	goals := `"apiDowntime":{"max":"1s"},"rto":{"max":"20s"}`
	for _, e := range run(`"MigrationEnds","SingleWriter"`, goals, timeline.StepStarted{Index: 1},
		step(timeline.StepUnmet, "late"), timeline.FaultInjected{Fault: "cut"}, timeline.FaultHealed{Hits: 4}, steady,
		rebound,
		reached(7, timeline.Acknowledged), reached(8, timeline.Failed), reached(9, timeline.Failed),
		reached(10, timeline.Acknowledged), ended) {
		journal.Record(e)
		now.SetTime(now.Now().Add(time.Second))
	}
	if err := errors.Join(journal.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	r, events, err := verdict.JudgeFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	r.WallSeconds, r.Violations[0].At, r.Violations[1].At, r.Violations[2].At = 12.5, 1, 2.5, 11
	if err := verdict.Write(folder, r, events); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"scenario": "tale", "backend": "small", "randomSeed": 3.0, "verdict": "Failed", "wallSeconds": 12.5,
		"started": "1970-01-01T00:00:00Z", "promises": []any{"MigrationEnds", "SingleWriter"},
		"unseen": map[string]any{"SingleWriter": []any{"the owner epochs of alpha"}},
		"measures": map[string]any{"apiDowntimeSeconds": 3.0, "apiLongestGapSeconds": 3.0,
			"phases": map[string]any{"asked": 0.0, "apiDown.asked": 0.0}},
		"objectives": []any{map[string]any{"measure": "apiDowntime", "max": 1.0, "measured": 3.0},
			map[string]any{"measure": "rto", "max": 20.0}},
		"faults": []any{map[string]any{"name": "alpha", "hits": 4.0}},
		"violations": []any{
			map[string]any{"oracle": "expect", "at": 1.0, "message": "step 2: late", "events": []any{3.0}},
			map[string]any{"oracle": "MigrationEnds", "at": 2.5, "message": r.Violations[1].Message, "events": []any{7.0}},
			map[string]any{"oracle": "measure", "measure": "apiDowntime", "at": 11.0,
				"message": "apiDowntime is 3s, the goal is at most 1s", "events": []any{8.0, 11.0}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict.json (-want +got):\n%s", diff)
	}
	cases := map[string]string{
		"set up": "passed",
		// nobody has seen what they need
		"step 2: expect much": "failed", "MigrationEnds": "failed", "SingleWriter": "skipped", "settle": "passed",
		"measure apiDowntime": "failed", "measure rto": "error",
	}
	checkJUnit(t, folder, cases)
}

// A run that ends in an error before its first step has a test case for the set-up, with that error.
func TestSuiteOf_SetUpThatFails_IsATestCaseInError(t *testing.T) {
	t.Parallel()
	events := []timeline.Event{
		{Seq: 1, Payload: timeline.RunStarted{Scenario: "tale"}},
		{Seq: 2, At: 3 * time.Second, Payload: timeline.RunEnded{Error: "no seed is ready"}},
	}
	suite := verdict.SuiteOf(t.TempDir(), &verdict.Report{Scenario: "tale", Verdict: verdict.Error}, events)
	first := suite.Cases[0]
	if first.Name != "set up" || first.Time != 3 || first.Error == nil || first.Error.Message != "no seed is ready" {
		t.Errorf("the first test case is %+v, want the set-up of 3s, with the error", first)
	}
	if last := suite.Cases[len(suite.Cases)-1]; last.Name != "Error" || len(suite.Cases) != 2 {
		t.Errorf("test cases %+v, want the set-up and the verdict", suite.Cases)
	}
}

func checkJUnit(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests      int     `xml:"tests,attr"`
		Failures   int     `xml:"failures,attr"`
		Errors     int     `xml:"errors,attr"`
		Skipped    int     `xml:"skipped,attr"`
		Time       float64 `xml:"time,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []junitCase `xml:"testcase"`
	}
	if err := xml.Unmarshal(content, &suite); err != nil {
		t.Fatal(err)
	}
	cases, properties, count := map[string]string{}, map[string]string{}, map[string]int{}
	took := map[string]float64{"the suite": suite.Time}
	for _, c := range suite.Cases {
		cases[c.Name] = c.outcome()
		count[cases[c.Name]]++
		if c.Time != 0 {
			took[c.Name] = c.Time
		}
	}
	seconds := map[string]float64{"the suite": 12.5, "set up": 1, "step 2: expect much": 1}
	if diff := cmp.Diff(seconds, took); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
	for _, p := range suite.Properties {
		properties[p.Name] = p.Value
	}
	if diff := cmp.Diff(want, cases); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if suite.Tests != len(want) || suite.Failures != count["failed"] || suite.Errors != count["error"] ||
		suite.Skipped != count["skipped"] {
		t.Errorf("%d tests, %d failures, %d errors and %d skipped are counted; there are %v", suite.Tests, suite.Failures,
			suite.Errors, suite.Skipped, count)
	}
	measured := map[string]string{"verdict": "Failed", "backend": "small", "randomSeed": "3", "apiDowntimeSeconds": "3",
		"apiLongestGapSeconds": "3"}
	if diff := cmp.Diff(measured, properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// Programs that read JUnit take what nobody could see for no failure.
func TestAnExpectationThatNobodyCouldSeeIsSkipped(t *testing.T) {
	t.Parallel()
	events := run("", "", step(timeline.StepUnknown, "not known within 1s"), timeline.Settled{Converged: true}, ended)
	r, err := verdict.Judge(events)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := verdict.Write(folder, r, events); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), `<skipped message="not known within 1s">`) || !strings.Contains(string(content),
		`failures="0"`) {
		t.Errorf("%s", content)
	}
}

// What a run does not show is no test that has passed.
func TestJUnit_RunThatShowsNothing_HasNoPassedPromise(t *testing.T) {
	t.Parallel()
	const goals = `"apiDowntime":{"max":"9s"}`
	const promises = `"MigrationEnds","SingleWriter","NoOrphans","CloudUntouched","NodesPreserved","NoFalseAlarm",` +
		`"Revisions"`
	good := []timeline.Payload{steady, restores, reached(3, timeline.Acknowledged), timeline.Settled{Converged: true}}
	for name, events := range map[string][]timeline.Event{
		"nothing happened":   run(promises, goals, ended),
		"it could not begin": run(promises, goals, timeline.RunEnded{Error: "no landscape"}),
		"it was cut off":     run(promises, goals, good...),
		"a step failed":      run(promises, goals, append(good, step(timeline.StepFailed, "refused"), ended)...),
		"a fault hit nothing": run(promises, goals,
			append([]timeline.Payload{timeline.FaultInjected{Fault: "cut"}, timeline.FaultHealed{}},
				append(good, ended)...)...),
	} {
		r, err := verdict.Judge(events)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict == verdict.Passed || r.Verdict == verdict.Failed {
			t.Errorf("%s: the verdict is %s", name, r.Verdict)
		}
		folder := t.TempDir()
		if err := verdict.Write(folder, r, events); err != nil {
			t.Fatal(err)
		}
		for _, c := range junitOf(t, folder) {
			if _, isOracle := oracle.Find(c.Name); (isOracle || c.Name == "measure apiDowntime") && c.outcome() == "passed" {
				t.Errorf("%s: %s has passed", name, c.Name)
			}
		}
	}
}

// junitCase is a test case as programs read it.
type junitCase struct {
	Name    string    `xml:"name,attr"`
	Time    float64   `xml:"time,attr"`
	Failure *struct{} `xml:"failure"`
	Error   *struct{} `xml:"error"`
	Skipped *struct{} `xml:"skipped"`
}

func (c junitCase) outcome() string {
	switch {
	case c.Failure != nil:
		return "failed"
	case c.Error != nil:
		return "error"
	case c.Skipped != nil:
		return "skipped"
	}
	return "passed"
}

func junitOf(t *testing.T, folder string) []junitCase {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Cases []junitCase `xml:"testcase"`
	}
	if err := xml.Unmarshal(content, &suite); err != nil {
		t.Fatal(err)
	}
	return suite.Cases
}
