package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// recording writes runs for tests: events at the moments that the test says, judged like real ones.
type recording struct {
	t       *testing.T
	folder  string
	clock   *testingclock.FakePassiveClock
	start   time.Time
	journal *timeline.Journal
	file    *os.File
	release func() // as its process does when it ends
	writes  int
}

// unkind is a name that would be markup, were it not escaped.
const unkind = `<img src=x onerror="document.title='owned'">&"'</script>`

const spec = `{"apiVersion":"transplant.dev/v1alpha1","kind":"Scenario","metadata":{"name":"tale"},"spec":{"why":%q,
"landscape":{"seeds":[{"name":"a"},{"name":"b"}],"shoots":[{"name":"alpha","seed":"a"}]},
"always":["NoLostWrite","MigrationEnds"],
"measure":{"rto":{"max":"20s"},"apiDowntime":{"max":"5s"},"lostWrites":{"max":0}}}}`

func newRecording(t *testing.T, folder string) *recording {
	t.Helper()
	return record(t, folder, fmt.Sprintf(spec, "to see "+unkind))
}

// record begins a run of the scenario with this definition.
func record(t *testing.T, folder, definition string) *recording {
	t.Helper()
	release, err := timeline.Hold(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	file, err := os.Create(filepath.Join(folder, timeline.FileName))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(start)
	tl := &recording{t: t, folder: folder, clock: clock, start: start, file: file, release: release,
		journal: timeline.NewJournal(clock, file)}
	tl.at(0, "", "", timeline.RunStarted{Scenario: "tale", Backend: "small", RandomSeed: 7, TimeoutMultiplier: 2,
		Definition: json.RawMessage(definition)})
	return tl
}

func (t *recording) at(seconds float64, actor, subject string, p timeline.Payload) {
	t.clock.SetTime(t.start.Add(time.Duration(seconds * float64(time.Second))))
	t.journal.Record(timeline.Event{Actor: actor, Subject: subject, Payload: p})
}

func moment(seconds float64) timeline.Moment { return timeline.Moment(seconds * float64(time.Second)) }

func (t *recording) seen(seconds float64, spec, status, operation, state string, progress int) {
	t.at(seconds, "observer", "alpha", timeline.ShootSeen{
		UID: "u", TechnicalID: "shoot--p--alpha", SpecSeed: spec, StatusSeed: status,
		Operation: timeline.Operation{Type: operation, State: state, Progress: progress, Description: "Deploying " + unkind},
		Conditions: []timeline.ConditionIs{{Type: "EveryNodeReady",
			Status: map[bool]string{true: "True", false: "Unknown"}[state == "Succeeded"]}},
	})
}

// write to a key of its own, and one attempt to reach the API.
func (t *recording) write(seconds float64, outcome timeline.Outcome, revision int64) {
	t.writes++
	w := timeline.Write{Number: t.writes, Key: fmt.Sprintf("w-%d", t.writes), Verb: "create", Outcome: outcome,
		Sent: moment(seconds - 0.01), Answered: moment(seconds), UID: fmt.Sprint(t.writes)}
	if outcome == timeline.Acknowledged {
		w.ResourceVersion = revision
	} else {
		w.Error = "no answer: " + unkind
	}
	t.at(seconds, "user", "alpha", w)
	t.tried(seconds, outcome)
}

// tried to reach the API once.
func (t *recording) tried(seconds float64, outcome timeline.Outcome) {
	failure := ""
	if outcome != timeline.Acknowledged {
		failure = "no answer: " + unkind
	}
	t.at(seconds, "user", "alpha", timeline.Reached{
		Outcome: outcome, Sent: moment(seconds - 0.01), Answered: moment(seconds), Error: failure,
	})
}

// begin records the run until the seed is lost: n writes in the first ten seconds.
func (t *recording) begin(n int) {
	t.at(0.5, "", "", timeline.LandscapeReady{Seeds: []string{"a", "b"}})
	t.seen(1, "a", "", "Create", "Processing", 40)
	t.seen(2, "a", "a", "Create", "Succeeded", 100)
	for i := range 3 {
		t.at(2, "observer", "alpha", timeline.NodeSeen{Name: fmt.Sprintf("node-%d", i), UID: fmt.Sprint(i), BootID: "b",
			Ready: "True"})
	}
	t.at(2.1, "operator", "alpha", timeline.ShootReady{TechnicalID: "shoot--p--alpha", Nodes: 3, Objects: 20})
	t.at(2.2, "operator", "alpha", timeline.StepStarted{Index: 0, Verb: "load",
		Text: "load alpha with 20 writes a second"})
	t.at(2.3, "operator", "alpha", timeline.StepEnded{Index: 0, Verb: "load", Text: "load alpha with 20 writes a second",
		Outcome: timeline.StepDone})
	for i := range n {
		at := 2.5 + 7.5*float64(i)/float64(n)
		t.write(at, timeline.Acknowledged, int64(100+i))
		if i%10 == 0 {
			t.at(at, "observer", "alpha", timeline.EpochSeen{Seed: "a", Epoch: 1, State: "Serving",
				Remaining: timeline.Length(4 * time.Second), Sent: moment(at), Answered: moment(at), Revision: int64(100 + i)})
		}
	}
	t.at(10, "operator", "fire", timeline.FaultInjected{Fault: "loseCluster(a)"})
}

// finish records the rest: alpha comes back on seed b, without the writes that were acknowledged last.
func (t *recording) finish(n, lost int) *verdict.Report {
	kept := t.writes - lost
	t.at(10.1, "operator", "alpha", timeline.StepStarted{Index: 1, Verb: "expect",
		Text: "expect shoot('alpha').seed == 'b' " + unkind})
	for i := range n {
		t.write(10.2+9.8*float64(i)/float64(n), timeline.Unknown, 0)
	}
	t.tried(20.5, timeline.Unknown)
	t.seen(21, "b", "a", "Migrate", "Aborted", 10)
	t.seen(22, "b", "b", "Restore", "Processing", 30)
	t.tried(22.4, timeline.Unknown)
	t.at(23, "gardenlet-b", "", timeline.CloudCalled{Number: 1, Verb: "put", What: "records", Name: "owner.alpha.p.x",
		Outcome: "OK", Took: true, Made: moment(22.9)})
	t.tried(24.3, timeline.Unknown)
	t.at(25, "observer", "alpha", timeline.EpochSeen{Seed: "b", Epoch: 2, State: "Serving",
		Remaining: timeline.Length(4 * time.Second), Sent: moment(25), Answered: moment(25), Revision: 1000000})
	for i := range n {
		t.write(26+10*float64(i)/float64(n), timeline.Acknowledged, int64(1000001+i))
	}
	t.seen(37, "b", "b", "Restore", "Succeeded", 100)
	t.tried(37.05, timeline.Acknowledged)
	t.at(37.1, "operator", "alpha", timeline.StepEnded{Index: 1, Verb: "expect", Text: "expect shoot('alpha').seed == 'b'",
		Outcome: timeline.StepDone})
	t.at(38, "operator", "fire", timeline.FaultHealed{Fault: "loseCluster(a)", Hits: 12})
	t.tried(38.05, timeline.Acknowledged)
	t.at(38.1, "operator", "", timeline.Settling{})
	t.at(39, "operator", "", timeline.Settled{Converged: true})
	data := timeline.DataSeen{Version: 1000100}
	for _, e := range t.journal.Events() {
		if w, is := e.Payload.(timeline.Write); is && w.Outcome == timeline.Acknowledged &&
			(w.Number <= kept || w.ResourceVersion >= 1000000) {
			data.Keys = append(data.Keys, timeline.DataKey{Key: w.Key, Number: w.Number, UID: w.UID,
				ResourceVersion: w.ResourceVersion})
		}
	}
	t.at(39.5, "observer", "alpha", data)
	t.at(40, "", "", timeline.RunEnded{})
	return t.judge()
}

func (t *recording) judge() *verdict.Report {
	t.t.Helper()
	if err := errors.Join(t.journal.Close(), t.file.Close()); err != nil {
		t.t.Fatal(err)
	}
	judged, events, err := verdict.JudgeFolder(t.folder)
	if err != nil {
		t.t.Fatal(err)
	}
	if err := verdict.Write(t.folder, judged, events); err != nil {
		t.t.Fatal(err)
	}
	t.release()
	return judged
}

// lossy is the folder of a run in which a seed is lost, and as many acknowledged writes with it; with its report.
func lossy(t *testing.T, writes, lost int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "lossy")
	one := newRecording(t, folder)
	one.begin(writes)
	// the API was down for too long in any case
	if judged := one.finish(writes, lost); judged.Verdict != verdict.Failed {
		t.Fatalf("the verdict is %s: %+v", judged.Verdict, judged)
	}
	if err := report.Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}
