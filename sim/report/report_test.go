package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

func load(t *testing.T, folder string) *report.Run {
	t.Helper()
	run, err := report.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func row(t *testing.T, m report.Model, id string) report.Row {
	t.Helper()
	at := slices.IndexFunc(m.Rows, func(l report.Row) bool { return l.ID == id })
	if at < 0 {
		t.Fatalf("there is no row %q", id)
	}
	return m.Rows[at]
}

type bar struct {
	From, To int64
	Label    string
	Tone     report.Tone
}

func barsOf(l report.Row) []bar {
	var all []bar
	for _, b := range l.Bars {
		all = append(all, bar{b.From, b.To, b.Label, b.Tone})
	}
	return all
}

// Every actor of the landscape has a row, with what it did, or with the faults that name it, or with nothing.
func TestRows_EveryActorOfTheLandscape_HasOne(t *testing.T) {
	t.Parallel()
	one := newRecording(t, filepath.Join(t.TempDir(), "harmed"))
	one.at(1, "operator", "dark", timeline.FaultInjected{Fault: "cut(extensions-a,cloud)"})
	one.at(2, "operator", "deaf", timeline.FaultInjected{Fault: "latency(extensions-a,a)"})
	one.at(2, "operator", "late", timeline.FaultAwaited{Fault: "cut(gateway-b,b)"})
	one.at(3, "operator", "deaf", timeline.FaultHealed{Fault: "latency(extensions-a,a)", Hits: 3})
	one.at(4, "gardenlet-a", "t", timeline.CloudCalled{Verb: "put", What: "records"})
	one.at(5, "operator", "heard", timeline.FaultInjected{Fault: "cut(gardenlet-a,nobody)"})
	one.at(6, "", "", timeline.RunEnded{})
	one.judge()
	m := report.ModelOf(load(t, one.folder), 0)
	harmed := row(t, m, "actors/extensions-a")
	if diff := cmp.Diff([]bar{{1000, 6000, "dark", report.Bad}, {2000, 3000, "deaf, 3 hits", report.Bad}},
		barsOf(harmed)); diff != "" || harmed.Lines != 2 {
		t.Errorf("on %d lines (-want +got):\n%s", harmed.Lines, diff)
	}
	selects := report.Selector{Kinds: []string{"FaultAwaited", "FaultInjected", "FaultHealed"},
		Subjects: []string{"dark", "deaf"}}
	if diff := cmp.Diff(selects, harmed.Show); diff != "" {
		t.Errorf("the row selects (-want +got):\n%s", diff)
	}
	quiet := row(t, m, "actors/gateway-b")
	if diff := cmp.Diff(report.Selector{Actor: "gateway-b"}, quiet.Show); diff != "" || len(quiet.Bars) > 0 {
		t.Errorf("who was not heard of has bars %v, and selects (-want +got):\n%s", quiet.Bars, diff)
	}
	want := "control-planes-a bars, control-planes-b bars, extensions-a bars, extensions-b bars, " +
		"garden-controller-manager bars, gardenlet-a ticks, gardenlet-b bars, gateway-a bars, gateway-b bars, nodes bars, " +
		"operator ticks, user bars"
	if diff := cmp.Diff(want, actorsOf(m)); diff != "" {
		t.Errorf("actors (-want +got):\n%s", diff)
	}
	if on := m.Faults[0].On; !slices.Contains(on, "actors/extensions-a") {
		t.Errorf("the fault is shown on %v", on)
	}
}

// actorsOf a model, each with the form of its row.
func actorsOf(m report.Model) string {
	var all []string
	for _, l := range m.Rows {
		if l.Group == "Actors" {
			all = append(all, l.Label+" "+l.Form)
		}
	}
	return strings.Join(all, ", ")
}

func TestRows_RunThatLosesWrites_ShowWhatHappened(t *testing.T) {
	t.Parallel()
	m := report.ModelOf(load(t, lossy(t, 100, 3)), 0)
	for id, want := range map[string][]bar{
		"scenario/steps": {{2200, 2300, "1 load alpha with 20 writes a second", report.Good},
			{10100, 37100, "2 expect shoot('alpha').seed == 'b' " + unkind, report.Good}, {38100, 39000, "settle", report.Good}},
		"scenario/faults": {{10000, 38000, "fire, 12 hits", report.Bad}},
		"shoots/alpha-operation": {
			{1000, 2000, "Create", report.Busy}, {2000, 21000, "on a", report.Good},
			{21000, 22000, "Migrate Aborted", report.Bad}, {22000, 37000, "Restore", report.Busy},
			{37000, 40000, "on b", report.Good},
		},
		"shoots/alpha-API": {{2100, 9925, "reachable", report.Good}, {9925, 26000, "unreachable", report.Bad},
			{26000, 39000, "reachable", report.Good}},
		"shoots/alpha-nodes": {{2000, 40000, "3 of 3 ready", report.Good}},
		"shoots/alpha-conditions": {{1000, 2000, "EveryNodeReady Unknown", report.Unclear},
			{21000, 37000, "EveryNodeReady Unknown", report.Unclear}},
		"clusters/seed-a": {{2500, 9250, "alpha epoch 1 Serving", report.Good}},
		"clusters/seed-b": {{25000, 25000, "alpha epoch 2 Serving", report.Good}},
	} {
		if diff := cmp.Diff(want, barsOf(row(t, m, id))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if diff := cmp.Diff([]report.Band{{Name: "fire", What: "loseCluster(a)", From: 10000, To: 38000, Hits: 12,
		Healed: true, Begun: true, On: []string{"clusters/seed-a"}, Event: m.Faults[0].Event}}, m.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// A control plane that nobody hears of is not shown as what it said last, and a shoot that sleeps neither as reachable
// nor as out of reach.
func TestWhatIsNotKnownIsNotShown(t *testing.T) {
	t.Parallel()
	one := newRecording(t, filepath.Join(t.TempDir(), "unknown"))
	epoch := func(at float64, state string) {
		one.at(at, "observer", "alpha", timeline.EpochSeen{Seed: "a", Epoch: 1, State: state, Answered: moment(at)})
	}
	reached := func(from, to float64, outcome timeline.Outcome) { // once a second
		for at := from; at <= to; at++ {
			one.at(at, "user", "alpha", timeline.Reached{Outcome: outcome, Sent: moment(at), Answered: moment(at)})
		}
	}
	epoch(1, "Starting")
	epoch(1.5, "Serving")
	one.seen(1.5, "a", "a", "Create", "Succeeded", 100)
	one.at(2, "operator", "alpha", timeline.ShootReady{})
	epoch(2, "Serving")
	reached(2, 10, timeline.Acknowledged)
	one.at(11, "observer", "alpha", timeline.ShootSeen{UID: "u", SpecSeed: "a", StatusSeed: "a", WantsToSleep: true,
		Operation: timeline.Operation{Type: "Reconcile", State: "Processing"}})
	reached(12, 19, timeline.Failed)
	one.seen(20, "a", "a", "Reconcile", "Succeeded", 100)
	reached(21, 21, timeline.Failed)
	reached(22, 30, timeline.Acknowledged)
	epoch(60, "Suspended")
	one.judge()
	m := report.ModelOf(load(t, one.folder), 0)
	for id, want := range map[string][]bar{
		"clusters/seed-a": {
			{1000, 1500, "alpha epoch 1 Starting", report.Plain}, {1500, 2000, "alpha epoch 1 Serving", report.Good},
			{60000, 60000, "alpha epoch 1 Suspended", report.Plain},
		},
		"shoots/alpha-API": {
			{2000, 10000, "reachable", report.Good}, {10000, 11000, "unreachable", report.Bad},
			{11000, 20000, "hibernated, or being deleted", report.Plain},
			{20000, 22000, "unreachable", report.Bad}, {22000, 30000, "reachable", report.Good},
			{30000, 60000, "not observed", report.Plain},
		},
	} {
		if diff := cmp.Diff(want, barsOf(row(t, m, id))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestEventsSayWhatWasLost(t *testing.T) {
	t.Parallel()
	run := load(t, lossy(t, 50, 3))
	m := report.ModelOf(run, 0)
	lost := 0
	for i, tone := range m.Events.Tone {
		if tone == report.Lost {
			lost++
			if w := run.Events[i].Payload.(timeline.Write); w.Number <= 47 || w.Number > 50 {
				t.Errorf("write %d is shown as lost", w.Number)
			}
		}
	}
	if lost != 3 || len(m.Events.At) != len(run.Events) {
		t.Errorf("%d writes of %d events are lost, want 3 of %d", lost, len(m.Events.At), len(run.Events))
	}
	later := report.ModelOf(run, 100)
	if later.Events.From != 100 || len(later.Events.At) != len(run.Events)-100 ||
		later.Events.Text[0] != m.Events.Text[100] {
		t.Errorf("what is new after event 100 begins at %d with %q", later.Events.From, later.Events.Text[0])
	}
}

// A verdict that was written before violations named their proof is shown with it all the same.
func TestOldVerdictsAreProvedAgain(t *testing.T) {
	t.Parallel()
	folder := lossy(t, 20, 2)
	judged, events, err := verdict.JudgeFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := load(t, folder).Verdict.Violations
	for i := range judged.Violations {
		judged.Violations[i].Events = nil
	}
	if err := verdict.Write(folder, judged, events); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, load(t, folder).Verdict.Violations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// text of a page, and its elements, as a browser reads them.
func parse(t *testing.T, content []byte) (elements map[string]int, text string) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	elements = map[string]int{}
	var all strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			elements[n.Data]++
		}
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			all.WriteString(strings.Join(strings.Fields(n.Data), " ") + " ")
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
	}
	walk(root)
	return elements, strings.Join(strings.Fields(all.String()), " ")
}

func TestTheReportSaysWhatBrokeWhenAndWhoDidIt(t *testing.T) {
	t.Parallel()
	folder := lossy(t, 20, 2)
	content, err := os.ReadFile(filepath.Join(folder, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	elements, text := parse(t, content)
	for _, want := range []string{
		"Failed", "4 violations of NoLostWrite, measure: the first at 39.5 s, after the fault fire (loseCluster(a)).",
		"Every write that was acknowledged is in the data at the end",
		"alpha: acknowledged write 19 to w-19 is lost: the key is absent", "Who user",
		"alpha was bound to seed b and ran on seed b: Restore Succeeded 100%", "Proved by 2 events",
		"RTO 16.000 s", "goal: at most 20s", "over the goal: at most 5s", "lost writes 2",
		"fire loseCluster(a) 10.0 s 38.0 s 12 ", "NoLostWrite 2 violations", "MigrationEnds kept",
		"transplant run scenario.yaml --backend small --seed 7 --timeout-multiplier 2", "recovery.firstWrite 16.000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if elements["img"] > 0 || elements["script"] != 2 {
		t.Errorf("what was recorded has become markup: %v", elements)
	}
	if found := regexp.MustCompile(`(?i)(src|href)="?(https?:)?//|@import|url\(["']?https?:`).Find(content); found != nil {
		t.Errorf("the report asks for something from elsewhere: %s", found)
	}
}

// A promise that could not be judged is not shown as kept, neither on the page nor beside other runs.
func TestWhatNobodyCouldJudgeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []timeline.Payload
		want   []string
	}{
		"Inconclusive": {
			[]timeline.Payload{timeline.ShootReady{TechnicalID: "shoot--p--alpha"}, timeline.Settled{Converged: true},
				timeline.RunEnded{}},
			[]string{"MigrationEnds not seen enough", "Nobody has seen the Shoot alpha in the garden.",
				"measure not seen enough", "expect kept", "settle kept"},
		},
		"Error": {
			[]timeline.Payload{timeline.RunEnded{Error: "no landscape"}},
			[]string{"settle not seen enough", "Nobody has seen whether the landscape settled.", "measure not seen enough"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := newRecording(t, filepath.Join(t.TempDir(), "unseen"))
			for i, p := range c.events {
				one.at(float64(i+1), "operator", "alpha", p)
			}
			if judged := one.judge(); string(judged.Verdict) != name {
				t.Fatalf("the verdict is %s", judged.Verdict)
			}
			run := load(t, one.folder)
			var page, comparison bytes.Buffer
			if err := errors.Join(report.Render(&page, run),
				report.Compare(&comparison, []*report.Run{run, load(t, lossy(t, 10, 0))}, []string{"a", "b"})); err != nil {
				t.Fatal(err)
			}
			_, text := parse(t, page.Bytes())
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the report lacks %q:\n%s", want, text)
				}
			}
			if _, text := parse(t, comparison.Bytes()); !strings.Contains(text, "measure not seen enough 1 violation") {
				t.Errorf("the comparison is\n%s", text)
			}
		})
	}
}

// The data in the page is the model, whatever stands in it.
func TestTheDataInTheReportIsTheModel(t *testing.T) {
	t.Parallel()
	folder := lossy(t, 20, 2)
	content, err := os.ReadFile(filepath.Join(folder, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<script type="application/json" id="model">(.*?)</script>`).FindSubmatch(content)
	if found == nil {
		t.Fatal("there is no data in the page")
	}
	var got report.Model
	if err := json.Unmarshal(found[1], &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.ModelOf(load(t, folder), 0), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARunThatGoesOn(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "live")
	one := newRecording(t, folder)
	one.begin(10)
	if _, err := one.file.WriteString(`{"seq":9999,"at":"11`); err != nil { // a line that is being written
		t.Fatal(err)
	}
	run := load(t, folder)
	var page bytes.Buffer
	if err := report.Render(&page, run); err != nil {
		t.Fatal(err)
	}
	if _, text := parse(t, page.Bytes()); !run.Live() || !strings.Contains(text,
		"Running The run went on when this page was made. There is no verdict yet; last: loseCluster(a) begins.") {
		t.Errorf("live %t:\n%s", run.Live(), text)
	}
}

// A run whose process has gone without a verdict does not go on for ever.
func TestARunWhoseProcessHasGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended bool
		want  string
	}{
		"killed in the middle": {false,
			"Aborted Its process has gone without a verdict: transplant judge --write judges what is recorded; last: " +
				"loseCluster(a) begins."},
		"killed before the verdict": {true,
			"Not judged It has ended without a verdict: transplant judge --write gives it one; last: the run has ended."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "gone")
			one := newRecording(t, folder)
			one.begin(10)
			if c.ended {
				one.at(40, "", "", timeline.RunEnded{})
			}
			one.release()
			run := load(t, folder)
			var page bytes.Buffer
			if err := report.Render(&page, run); err != nil {
				t.Fatal(err)
			}
			if _, text := parse(t, page.Bytes()); run.Live() || !strings.Contains(text, c.want) {
				t.Errorf("live %t:\n%s", run.Live(), text)
			}
		})
	}
}

func TestRender_RunWithCounters_ShowsWhereTheWorkWent(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "costly")
	one := newRecording(t, folder)
	process := func(cpu time.Duration) []timeline.ProcessSeen {
		return []timeline.ProcessSeen{{PID: 7, Program: "run", CPU: timeline.Length(cpu), WakeUps: 3},
			{PID: 8, Parent: 7, Program: "etcd", CPU: timeline.Length(4 * cpu), WakeUps: 5}}
	}
	link := func(requests int64) []timeline.LinkSeen {
		return []timeline.LinkSeen{{From: "gardenlet-a", To: "garden", Requests: requests,
			Kinds: []timeline.RequestsSeen{{Verb: "get", Resource: "seeds" + unkind, Requests: requests}}}}
	}
	one.at(1, "observer", "", timeline.CostSeen{Processes: process(2 * time.Second), Links: link(40)})
	one.at(3, "observer", "", timeline.CostSeen{Processes: process(3 * time.Second), Links: link(50)})
	var page bytes.Buffer
	if err := report.Render(&page, load(t, folder)); err != nil {
		t.Fatal(err)
	}
	_, text := parse(t, page.Bytes())
	for _, want := range []string{"landscape 1.0 10.00 25 40", "set up 2.0 5.00 25 10",
		"run 2.00 3", "harness 2.00 CPU s, 25 % of the 8.00 CPU s that it watches (run 2.00)",
		"get seeds" + unkind + " 40 gardenlet-a → garden"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
