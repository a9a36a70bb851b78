package dashboards_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/dashboards"
	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// panel of a board that can be drawn over time.
func panel(t *testing.T, uid, title string) (dashboards.Board, dashboards.Query) {
	t.Helper()
	for _, b := range dashboards.Boards() {
		for _, p := range b.Panels {
			if b.UID == uid && p.Title == title && !p.Queries[0].Instant {
				return b, p.Queries[0]
			}
		}
	}
	t.Fatalf("%s has no panel %q", uid, title)
	return dashboards.Board{}, dashboards.Query{}
}

// drawn is what a panel shows over all runs.
func (p *prometheus) drawn(t *testing.T, uid, title string, step time.Duration) []prometheustest.Series {
	t.Helper()
	b, q := panel(t, uid, title)
	found, err := p.QueryRange(b.Expr(q, p.span(), step), p.from, p.to.Add(step), step)
	if err != nil || !prometheustest.Answered(found) {
		t.Fatalf("%s shows %v, %v", title, found, err)
	}
	return found
}

// A run that has been loaded ends as it ended: the shoot is on one seed, and what was not well and has recovered is
// well.
func TestAPastRunEndsAsItEnded(t *testing.T) {
	t.Parallel()
	p := startOn(t, []run{kept(t, "testdata/planned-migration.jsonl.gz")})
	for expr, want := range map[string]int{
		`transplant_shoot_on_seed == 1`:                                           1,
		`transplant_shoot_on_seed{seed="b"} == 1`:                                 1,
		`max_over_time(transplant_shoot_on_seed{seed="a"}[10m]) == 1`:             1, // it was moved
		`transplant_shoot_operation_progress_ratio > 0`:                           1,
		`transplant_shoot_condition{status!="True"} == 1`:                         0,
		`max(max_over_time(transplant_shoot_condition{status!="True"}[10m])) > 0`: 1, // not all was well
	} {
		if found, err := p.query(expr, true); err != nil || len(found) != want {
			t.Errorf("%d series, %v, want %d: %s\n%v", len(found), err, want, expr, found)
		}
	}
}

// Of runs that end within Prometheus's patience with a series none is shown for longer than it took, and none is
// counted twice.
func TestBoards_RunsInARow_AreShownSeparately(t *testing.T) {
	t.Parallel()
	first := kept(t, "testdata/planned-migration.jsonl.gz")
	second := first
	second.record = &timeline.Record{Started: first.record.Started.Add(2 * time.Minute), Events: first.record.Events}
	p := startOn(t, []run{first, second})
	between := [2]time.Time{p.runs[0].to.Add(30 * time.Second), p.runs[1].from}
	for _, title := range []string{"Shoots by seed", "Where each shoot is", "Epochs that are served",
		"Conditions that are not True", "Nodes", "Processor time"} {
		runs := map[string]bool{}
		for _, s := range p.drawn(t, "transplant-landscape", title, time.Second) {
			runs[s.Labels["run"]] = true
			if slices.ContainsFunc(s.Samples, func(s prometheustest.Sample) bool {
				return s.At.After(between[0]) && s.At.Before(between[1])
			}) {
				t.Errorf("%s shows %v after its end", title, s.Labels)
			}
		}
		if len(runs) != 2 {
			t.Errorf("%s shows the runs %v", title, runs)
		}
	}
	for _, s := range p.drawn(t, "transplant-landscape", "Shoots by seed", time.Second) {
		for _, sample := range s.Samples {
			if sample.Value > 1 {
				t.Fatalf("there are %v shoots on %v, where there was one", sample.Value, s.Labels)
			}
		}
	}
}

// Over a week Grafana draws a value each ten minutes: no run may be lost between two.
func TestEveryRunIsShownOverAWeek(t *testing.T) {
	t.Parallel()
	const step = 10 * time.Minute
	all := runs(t)
	p := startOn(t, all)
	shown := map[string][]prometheustest.Sample{} // by scenario
	for _, s := range p.drawn(t, "transplant-recovery", "RTO over time", step) {
		shown[s.Labels["scenario"]] = s.Samples
	}
	asked := 0
	for i, run := range all {
		if run.judged.Measures.RTOSeconds == nil {
			continue
		}
		asked++
		rto, end := *run.judged.Measures.RTOSeconds, p.runs[i].to
		if !slices.ContainsFunc(shown[run.judged.Scenario], func(s prometheustest.Sample) bool {
			return !s.At.Before(end.Truncate(time.Second)) && s.At.Before(end.Add(step+time.Second)) && s.Value >= rto-1e-9
		}) {
			t.Errorf("the RTO of %s, %v s at %s, is not among %v", run.judged.Scenario, rto, end, shown[run.judged.Scenario])
		}
	}
	if asked < 2 {
		t.Errorf("%d runs have an RTO", asked)
	}
	for title, runs := range map[string]int{"API reachable": len(all), "Progress of operations": len(all)} {
		found := map[string]bool{}
		for _, s := range p.drawn(t, "transplant-migrations", title, step) {
			found[s.Labels["run"]] = true
		}
		if len(found) != runs {
			t.Errorf("%s shows %d runs, there are %d", title, len(found), runs)
		}
	}
}

// A run makes no more series than sim/metrics says: each is kept for as long as the run is.
func TestSeriesOfARunAreBounded(t *testing.T) {
	t.Parallel()
	const most = 600
	all := runs(t)
	p := startOn(t, all)
	found, err := p.query(fmt.Sprintf(`count by (run) (last_over_time({run!=""}[%ds]))`, int(p.span().Seconds())), true)
	if err != nil || len(found) != len(all) {
		t.Fatalf("%d of %d runs have series, %v", len(found), len(all), err)
	}
	for _, s := range found {
		t.Logf("%s makes %v series", s.Labels["run"], s.Samples[0].Value)
		if s.Samples[0].Value > most {
			t.Errorf("%s makes %v series, want %d at most", s.Labels["run"], s.Samples[0].Value, most)
		}
	}
}
