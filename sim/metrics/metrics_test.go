package metrics_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const definition = `{"metadata":{"name":"tale"},"spec":{"why":"to be counted","measure":{"rto":{"max":"30s"},` +
	`"lostWrites":{"max":0}}}}`

type moment struct {
	at             float64
	actor, subject string
	payload        timeline.Payload
}

func seen(spec, status, operation, state string, progress int) timeline.ShootSeen {
	ready := map[bool]string{true: "True", false: "Unknown"}[state == "Succeeded"]
	return timeline.ShootSeen{SpecSeed: spec, StatusSeed: status, Operation: timeline.Operation{Type: operation,
		State: state, Progress: progress},
		Conditions: []timeline.ConditionIs{{Type: "EveryNodeReady", Status: ready}}}
}

func write(number int, outcome timeline.Outcome) timeline.Write {
	return timeline.Write{Number: number, Key: "k", Verb: "create", Outcome: outcome, Sent: timeline.Moment(time.Second),
		Answered: timeline.Moment(1030 * time.Millisecond)}
}

// migration is a planned migration of alpha from a to b, with a fault in it.
func migration() []moment {
	return []moment{
		{0, "", "", timeline.RunStarted{Scenario: "tale", Backend: "small", Definition: json.RawMessage(definition)}},
		{1, "", "", timeline.LandscapeReady{Seeds: []string{"a", "b"}}},
		{2, "observer", "alpha", seen("a", "a", "Create", "Succeeded", 100)},
		{2, "observer", "alpha", timeline.NodeSeen{Name: "n1", Ready: "True"}},
		{2, "observer", "alpha", timeline.NodeSeen{Name: "n2", Ready: "False"}},
		{3, "operator", "alpha", timeline.ShootReady{TechnicalID: "t", Nodes: 2}},
		{3, "operator", "beta", timeline.ShootReady{TechnicalID: "u"}},
		{4, "user", "alpha", write(1, timeline.Acknowledged)},
		{4, "user", "alpha", timeline.Reached{Outcome: timeline.Acknowledged}},
		{5, "operator", "dark", timeline.FaultInjected{Fault: "cut(user,shoots)"}},
		{5, "observer", "alpha", timeline.EpochSeen{Seed: "a", Epoch: 1, State: "Serving",
			Remaining: timeline.Length(time.Second)}},
		{6, "user", "alpha", write(2, timeline.Unknown)},
		{6, "user", "alpha", timeline.Reached{Outcome: timeline.Failed}},
		{10, "observer", "alpha", seen("b", "a", "Create", "Succeeded", 100)},
		{10.5, "observer", "alpha", seen("b", "a", "Migrate", "Processing", 40)},
		{14, "observer", "alpha", seen("b", "b", "Migrate", "Succeeded", 100)},
		{14.2, "observer", "alpha", seen("b", "b", "Restore", "Processing", 20)},
		{15, "operator", "dark", timeline.FaultHealed{Fault: "cut(user,shoots)", Hits: 3}},
		{16, "gardenlet-a", "t", timeline.CloudCalled{Number: 1, Verb: "put", What: "records", Outcome: "StaleEpoch"}},
		{7, "", "", timeline.CostSeen{Links: []timeline.LinkSeen{{From: "gardenlet-a", To: "garden", Requests: 50,
			BytesToServer: 500, BytesToClient: 5000, Errors: 1}}}},
		{17, "", "", timeline.CostSeen{
			Requests: map[string]int64{"gardenlet-a": 70}, CPU: timeline.Length(90 * time.Second),
			Links: []timeline.LinkSeen{{From: "gardenlet-a", To: "garden", Requests: 70, BytesToServer: 700, BytesToClient: 7000,
				Errors: 3}, {From: "user", To: "shoots", Requests: 2}},
		}},
		{24, "observer", "alpha", seen("b", "b", "Restore", "Succeeded", 100)},
		{25, "operator", "", timeline.StepEnded{Verb: "expect", Outcome: timeline.StepDone}},
		{26, "", "", timeline.RunEnded{}},
	}
}

func record(t *testing.T) *timeline.Record {
	t.Helper()
	return recordOf(t, migration())
}

func recordOf(t *testing.T, moments []moment) *timeline.Record {
	t.Helper()
	start := time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(start)
	var out bytes.Buffer
	journal := timeline.NewJournal(clock, &out)
	for _, m := range moments {
		clock.SetTime(start.Add(time.Duration(m.at * float64(time.Second))))
		journal.Record(timeline.Event{Actor: m.actor, Subject: m.subject, Payload: m.payload})
	}
	decoded, err := timeline.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func judged() *verdict.Report {
	rto, lost := 21.5, 2
	r := &verdict.Report{Verdict: verdict.Failed, WallSeconds: 26, Promises: []string{"NoLostWrite"},
		Violations: []verdict.Violation{{Oracle: "measure"}, {Oracle: "measure"}}}
	r.Measures.RTOSeconds, r.Measures.LostWrites = &rto, &lost
	r.Measures.Phases = map[string]float64{"alpha.recovery.detected": 3, "beta.recovery.detected": 4, "total": 14}
	return r
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	events := record(t).Events
	meter, err := metrics.NewMeter("run-1", events[0].Payload.(timeline.RunStarted))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		meter.Take(e)
	}
	meter.Judged(judged())
	const who = `backend="small",run="run-1",scenario="tale"`
	for name, lines := range map[string][]string{
		"transplant_writes_total": {`{actor="user",WHO,outcome="acknowledged",shoot="alpha"} 1`,
			`{actor="user",WHO,outcome="unknown",shoot="alpha"} 1`},
		"transplant_api_up": {`{WHO,shoot="alpha"} 0`},
		"transplant_api_probes_total": {`{WHO,outcome="acknowledged",shoot="alpha"} 1`,
			`{WHO,outcome="failed",shoot="alpha"} 1`},
		"transplant_cloud_calls_total":   {`{actor="gardenlet-a",WHO,outcome="Refused",resource="records",verb="put"} 1`},
		"transplant_link_requests_total": {`{WHO,from="gardenlet-a",to="garden"} 70`, `{WHO,from="user",to="shoots"} 2`},
		"transplant_link_bytes_total": {
			`{WHO,from="gardenlet-a",to="garden",toward="client"} 7000`,
			`{WHO,from="gardenlet-a",to="garden",toward="server"} 700`,
			`{WHO,from="user",to="shoots",toward="client"} 0`, `{WHO,from="user",to="shoots",toward="server"} 0`,
		},
		"transplant_link_errors_total": {`{WHO,from="gardenlet-a",to="garden"} 3`,
			`{WHO,from="user",to="shoots"} 0`},
		"transplant_landscape_cpu_seconds": {`{WHO} 90`},
		"transplant_fault_active":          {`{WHO,fault="dark",kind="cut"} 0`},
		"transplant_fault_hits":            {`{WHO,fault="dark",kind="cut"} 3`},
		"transplant_shoot_on_seed":         {`{WHO,seed="a",shoot="alpha"} 0`, `{WHO,seed="b",shoot="alpha"} 1`},
		"transplant_seed_shoots":           {`{WHO,seed="a"} 0`, `{WHO,seed="b"} 1`},
		"transplant_shoot_epoch":           {`{WHO,seed="a",shoot="alpha"} 1`},
		"transplant_shoot_nodes": {`{WHO,ready="false",shoot="alpha"} 1`,
			`{WHO,ready="true",shoot="alpha"} 1`},
		"transplant_shoot_condition": {`{WHO,shoot="alpha",status="True",type="EveryNodeReady"} 1`,
			`{WHO,shoot="alpha",status="Unknown",type="EveryNodeReady"} 0`},
		"transplant_shoot_operation_progress_ratio": {`{WHO,operation="Create",shoot="alpha"} 0`,
			`{WHO,operation="Migrate",shoot="alpha"} 0`, `{WHO,operation="Restore",shoot="alpha"} 1`},
		"transplant_steps_total": {`{WHO,outcome="done",verb="expect"} 1`},
		"transplant_run_verdict": {`{WHO,verdict="Error"} 0`, `{WHO,verdict="Failed"} 1`,
			`{WHO,verdict="Inconclusive"} 0`, `{WHO,verdict="Passed"} 0`},
		"transplant_run_violations": {`{WHO,promise="NoLostWrite"} 0`, `{WHO,promise="expect"} 0`,
			`{WHO,promise="measure"} 2`, `{WHO,promise="settle"} 0`},
		"transplant_run_measure_seconds":  {`{WHO,measure="rto"} 21.5`},
		"transplant_run_measure_number":   {`{WHO,measure="lost_writes"} 2`},
		"transplant_run_goal":             {`{WHO,measure="lost_writes"} 0`, `{WHO,measure="rto"} 30`},
		"transplant_run_recovery_seconds": {`{WHO,moment="detected"} 4`},
		"transplant_run_duration_seconds": {`{WHO} 26`},
	} {
		gathered, err := meter.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, family := range gathered {
			if family.GetName() == name {
				want.WriteString("# HELP " + name + " " + family.GetHelp() + "\n# TYPE " + name + " " +
					strings.ToLower(family.GetType().String()) + "\n")
			}
		}
		for _, line := range lines {
			inside, value, _ := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(line, "WHO", who), "{"), "}")
			labels := strings.Split(inside, ",")
			slices.Sort(labels) // as they are gathered
			want.WriteString(name + "{" + strings.Join(labels, ",") + "}" + value + "\n")
		}
		if err := testutil.GatherAndCompare(meter.Gatherer(), strings.NewReader(want.String()), name); err != nil {
			t.Error(err)
		}
	}
}

// Names and units are as Prometheus recommends. What the labels of a metric may be is written down; a metric or a label
// that is not cannot slip in.
func TestAllMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	documented, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	events := record(t).Events
	meter, err := metrics.NewMeter("run-1", events[0].Payload.(timeline.RunStarted))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		meter.Take(e)
	}
	meter.Take(timeline.Event{Subject: "alpha", Payload: timeline.Read{Outcome: timeline.Acknowledged}})
	meter.Judged(judged())
	problems, err := testutil.GatherAndLint(meter.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	gathered, err := meter.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(documented)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], "`transplant_") {
			rows[strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	for _, family := range gathered {
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			if !slices.Contains([]string{"run", "scenario", "backend"}, l.GetName()) {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		if got, want := strings.TrimSpace(rows[family.GetName()]), strings.Join(labels, " "); got != want {
			t.Errorf("README.md has for %s the labels %q, it has %q", family.GetName(), got, want)
		}
		delete(rows, family.GetName())
	}
	for name := range rows {
		t.Errorf("README.md has %s, which is not counted", name)
	}
}

// The documented command reads what a run leaves.
func TestPastRunsAreLoaded(t *testing.T) {
	t.Parallel()
	promtool := prometheustest.Program(t, "promtool")
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, metrics.FileName))
	if err != nil {
		t.Fatal(err)
	}
	moments := migration()
	// in the same millisecond as the sample of second 26, beside which there is room for none
	moments[len(moments)-1].at = 26.0004
	if err := metrics.WriteSamples(file, recordOf(t, moments), judged()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", file.Name(),
		filepath.Join(folder, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(folder, "data", "wal"), 0o755); err != nil { // a dump wants one
		t.Fatal(err)
	}
	dump, err := exec.CommandContext(t.Context(), promtool, "tsdb", "dump", filepath.Join(folder, "data")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, dump)
	}
	for _, want := range []string{
		`{__name__="transplant_writes_total", actor="user", backend="small", outcome="acknowledged", ` +
			`run="tale-20261121T200000Z", scenario="tale", shoot="alpha"} 1 1795291204000`,
		`verdict="Failed"} 1 1795291226000`,
		`fault="dark", kind="cut", run="tale-20261121T200000Z", scenario="tale"} 1 1795291205000`,
	} {
		if !strings.Contains(string(dump), want) {
			t.Errorf("what was loaded lacks %q:\n%.3000s", want, dump)
		}
	}
}

func TestTheEngineServesItsMetrics(t *testing.T) {
	t.Parallel()
	exporter := metrics.NewExporter(clock.RealClock{})
	at, err := exporter.Serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scrape := func() string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v: %s", answer.StatusCode, err, content)
		}
		return string(content)
	}
	if body := scrape(); !strings.Contains(body, "process_cpu_seconds_total") || strings.Contains(body, "transplant_") {
		t.Errorf("before the first run:\n%s", body)
	}
	journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)), nil)
	following := exporter.Follow(t.Context(), "run", journal)
	for _, m := range migration() {
		journal.Record(timeline.Event{Actor: m.actor, Subject: m.subject, Payload: m.payload})
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	following.Judged(judged())
	body := scrape()
	for _, want := range []string{
		`transplant_run_verdict{backend="small",run="tale-20261121T200000Z",scenario="tale",verdict="Failed"} 1`,
		`transplant_events_total{backend="small",kind="Write",run="tale-20261121T200000Z",scenario="tale"} 2`} {
		if !strings.Contains(body, want) {
			t.Errorf("after the run %q is not served:\n%.3000s", want, body)
		}
	}
	run := func(landscape, scenario string) {
		t.Helper()
		journal := timeline.NewJournal(testingclock.NewFakePassiveClock(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)), nil)
		following := exporter.Follow(t.Context(), landscape, journal)
		journal.Record(timeline.Event{Payload: timeline.RunStarted{Scenario: scenario, Backend: "small",
			Definition: json.RawMessage(definition)}})
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
		following.Judged(&verdict.Report{Scenario: scenario, Backend: "small", Verdict: verdict.Passed})
	}
	run("run-2", "beside")
	run("run", "next")
	body = scrape()
	for scenario, want := range map[string]bool{"tale": false, "next": true, "beside": true} {
		if strings.Contains(body, `scenario="`+scenario+`"`) != want {
			t.Errorf("%s is served: %t, want %t", scenario, !want, want)
		}
	}
}
