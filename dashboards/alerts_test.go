package dashboards_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// A single run that was too slow is noticed by a Prometheus that evaluates its rules only after the engine has ended, as it does in CI; one
// that kept its goals is not.
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
	told := kept(t, "testdata/seed-loss.jsonl.gz")
	rto := *told.judged.Measures.RTOSeconds
	tell(t, exporter, "slow", told, rto-1)
	tell(t, exporter, "fast", told, rto+1)
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
	for _, rule := range []string{"TransplantRTOOverGoal", "TransplantVerdictNotHeld"} {
		firing := await(rule, `ALERTS{alertstate="firing",alertname="`+rule+`"}`)
		if len(firing) != 1 || firing[0]["scenario"] != "slow" {
			t.Errorf("%s fires for %v, want it for the slow run", rule, firing)
		}
	}
}

// watch an engine as users are told to, but with rules that are first evaluated when it has ended.
func watch(t *testing.T, address string) *prometheustest.Server {
	t.Helper()
	folder := t.TempDir()
	rules, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "prometheus.yml")
	content := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 5s}\nrule_files: [%q]\nscrape_configs: [{job_name: transplant, static_configs: [{targets: [%q]}]}]\n", rules, address)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	p := prometheustest.Start(t, config, filepath.Join(folder, "data"))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if up, err := p.Query("up == 1", time.Now()); err == nil && len(up) > 0 {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("the engine is never scraped")
		}
	}
}

// tell a run that is over once more, under another name and with another goal for its RTO.
func tell(t *testing.T, exporter *metrics.Exporter, name string, told run, goal float64) {
	t.Helper()
	journal := timeline.NewJournal(clock.RealClock{}, nil)
	following := exporter.Follow(t.Context(), name, journal)
	for _, e := range told.record.Events {
		if start, is := e.Payload.(timeline.RunStarted); is {
			e.Payload = withGoal(t, start, name, goal)
		}
		journal.Record(timeline.Event{Actor: e.Actor, Subject: e.Subject, Payload: e.Payload})
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	judged := *told.judged
	if *judged.Measures.RTOSeconds > goal {
		judged.Verdict, judged.Violations = verdict.Violated, []verdict.Violation{{Oracle: verdict.Goal, Message: "too slow"}}
	}
	following.Judged(&judged)
}

func withGoal(t *testing.T, start timeline.RunStarted, name string, goal float64) timeline.RunStarted {
	t.Helper()
	story := &scenario.Scenario{}
	if err := json.Unmarshal(start.Story, story); err != nil {
		t.Fatal(err)
	}
	story.Spec.Measure.RTO = &scenario.Bound{}
	story.Spec.Measure.RTO.Max.Duration = time.Duration(goal * float64(time.Second))
	content, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	start.Scenario, start.Story = name, content
	return start
}
