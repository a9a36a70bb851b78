package dashboards_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// A single run that was too slow is noticed by a Prometheus that evaluates its rules only after the engine has ended,
// as it does in CI; one that kept its goals is not.
func TestRulesFireThoughTheEngineHasEnded(t *testing.T) {
	t.Parallel()
	engine, end := context.WithCancel(t.Context())
	defer end()
	exporter := metrics.NewExporter(clock.RealClock{})
	address, err := exporter.Serve(engine, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := watch(t, address)
	loss := kept(t, "testdata/seed-loss.jsonl.gz")
	rto := *loss.judged.Measures.RTOSeconds
	replay(t, exporter, "slow", loss, rto-1)
	replay(t, exporter, "fast", loss, rto+1)
	exporter.Stay(engine)
	end()
	found := func(expr string) []prometheustest.Series {
		all, err := p.Query(expr, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	await := func(what, expr string) []prometheustest.Series {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if all := found(expr); len(all) > 0 {
				return all
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is never seen: %s", what, expr)
			}
		}
	}
	await("the end of the engine", "up == 0")
	if left := found("transplant_run_measure_seconds"); len(left) > 0 {
		t.Errorf("the samples are not stale: %v", left)
	}
	for _, rule := range []string{"TransplantRTOOverGoal", "TransplantGoalMissed"} {
		firing := await(rule, `ALERTS{alertstate="firing",alertname="`+rule+`"}`)
		if len(firing) != 1 || firing[0].Labels["scenario"] != "slow" {
			t.Errorf("%s fires for %v, want it for the slow run", rule, firing)
		}
	}
}

// watch an engine as README.md says, but with rules that are first evaluated when it has ended.
func watch(t *testing.T, address string) *prometheustest.Server {
	t.Helper()
	folder := t.TempDir()
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	return scrape(t, address, rules, filepath.Join(folder, "data"))
}

// scrape an engine with the configuration that comes with the dashboards, of which the programs of landscapes are left
// out.
func scrape(t *testing.T, address, rules, data string) *prometheustest.Server {
	t.Helper()
	config := parsed[map[string]any](t, "prometheus.yml")
	config["rule_files"] = []string{rules}
	config["scrape_configs"] = slices.DeleteFunc(config["scrape_configs"].([]any), func(job any) bool {
		return job.(map[string]any)["job_name"] != "transplant"
	})
	content, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	const engine = "127.0.0.1:9740"
	if !bytes.Contains(content, []byte(engine)) {
		t.Fatalf("no engine is scraped at %s:\n%s", engine, content)
	}
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(engine), []byte(address)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := prometheustest.Start(t, path, data)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if up, err := p.Query("up == 1", time.Now()); err == nil && len(up) > 0 {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("the engine is never scraped")
		}
	}
}

// A run that was scraped, and is loaded too, has each series once: else what compares two of them fails, for all runs.
func TestARunMayBeScrapedAndLoaded(t *testing.T) {
	t.Parallel()
	exporter := metrics.NewExporter(clock.RealClock{})
	address, err := exporter.Serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	p := scrape(t, address, rules, data)
	failed := kept(t, "testdata/failed.jsonl.gz")
	failed.record = replay(t, exporter, "twice", failed, 1)
	// A scrape has the time at which it began. One that began before the verdict, and shows it, is older than the last
	// sample that is loaded. Prometheus drops it, as everything in its log that is older than its blocks.
	over := fmt.Sprintf(`timestamp(transplant_run_verdict{scenario="twice"}) > %f`, float64(time.Now().UnixMilli())/1000)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if seen, err := p.Query(over, time.Now()); err == nil && len(seen) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the verdict is never scraped")
		}
	}
	p.Stop()
	load(t, failed, data)
	again := prometheustest.Start(t, empty(t), data)
	const samples = `count_over_time(transplant_run_verdict{verdict="Failed",scenario="twice"}[1h])`
	found, err := again.Query(samples, time.Now())
	if err != nil || len(found) != 1 || found[0].Samples[0].Value < 2 {
		t.Fatalf("the run is there as %v, %v; want one series of what was scraped and what was loaded", found, err)
	}
	goals := 0
	for _, a := range dashboards.Alerts() {
		if _, err := again.Query(a.Expr(), time.Now()); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		if a.Above != "" {
			goals++
		}
	}
	const slow = `last_over_time(transplant_run_measure_seconds{measure="rto"}[1h]) > on (run, scenario) ` +
		`last_over_time(transplant_run_goal{measure="rto"}[1h])`
	if found, err := again.Query(slow, time.Now()); err != nil || len(found) != 1 || goals < 4 {
		t.Errorf("of %d rules about goals that of the RTO finds %v, %v", goals, found, err)
	}
}

// replay a run that is over, under another name and with another goal for its RTO.
func replay(t *testing.T, exporter *metrics.Exporter, name string, past run, goal float64) *timeline.Record {
	t.Helper()
	var lines bytes.Buffer
	journal := timeline.NewJournal(clock.RealClock{}, &lines)
	following := exporter.Follow(t.Context(), name, journal)
	for _, e := range past.record.Events {
		if start, is := e.Payload.(timeline.RunStarted); is {
			e.Payload = withGoal(t, start, name, goal)
		}
		journal.Record(timeline.Event{Actor: e.Actor, Subject: e.Subject, Payload: e.Payload})
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	judged := *past.judged
	if *judged.Measures.RTOSeconds > goal {
		judged.Verdict, judged.Violations = verdict.Failed, []verdict.Violation{{Oracle: verdict.Goal, Message: "too slow"}}
	}
	following.Judged(&judged)
	record, err := timeline.Decode(&lines)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func withGoal(t *testing.T, start timeline.RunStarted, name string, goal float64) timeline.RunStarted {
	t.Helper()
	s := &scenario.Scenario{}
	if err := json.Unmarshal(start.Definition, s); err != nil {
		t.Fatal(err)
	}
	s.Spec.Measure.RTO = &scenario.Bound{}
	s.Spec.Measure.RTO.Max.Duration = time.Duration(goal * float64(time.Second))
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	start.Scenario, start.Definition = name, content
	return start
}
