package dashboards_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/dashboards/prometheustest"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// metricRuns names folders of more runs to be loaded, separated like a PATH; each may be a pattern.
const metricRuns = "TRANSPLANT_METRIC_RUNS"

// prometheus is a real one that has loaded real runs, and the time that they span.
type prometheus struct {
	*prometheustest.Server
	from, to time.Time
	runs     []window
}

// span that looks back over all runs from their end.
func (p *prometheus) span() time.Duration { return p.to.Sub(p.from) + 2*time.Second }

// window is the time of one run.
type window struct{ from, to time.Time }

// start a Prometheus on the runs that there are.
func start(t *testing.T) *prometheus {
	t.Helper()
	return startOn(t, runs(t))
}

// startOn runs a Prometheus that has loaded them.
func startOn(t *testing.T, all []run) *prometheus {
	t.Helper()
	p := &prometheus{}
	data := filepath.Join(t.TempDir(), "data")
	for _, run := range all {
		load(t, run, data)
		begin, end := run.record.Started, run.record.Started.Add(run.record.Events[len(run.record.Events)-1].At)
		p.runs = append(p.runs, window{begin, end})
		if p.from.IsZero() || begin.Before(p.from) {
			p.from = begin
		}
		if end.After(p.to) {
			p.to = end
		}
	}
	p.Server = prometheustest.Start(t, empty(t), data)
	return p
}

// empty configuration: nothing is scraped.
func empty(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(path, []byte("global: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load a run as the documentation says.
func load(t *testing.T, past run, data string) {
	t.Helper()
	var samples bytes.Buffer
	if err := metrics.WriteSamples(&samples, past.record, past.judged); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), metrics.FileName)
	if err := os.WriteFile(path, samples.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), prometheustest.Program(t, "promtool"), "tsdb", "create-blocks-from",
		"openmetrics", path, data).CombinedOutput(); err != nil {
		t.Fatalf("load %s: %v\n%s", path, err, out)
	}
}

// query at the end of all runs, or over each of them.
func (p *prometheus) query(expr string, instant bool) ([]prometheustest.Series, error) {
	if instant {
		return p.Query(expr, p.to.Add(time.Second))
	}
	var all []prometheustest.Series
	for _, w := range p.runs {
		// and behind its end, where there are last values only
		found, err := p.QueryRange(expr, w.from, w.to.Add(20*time.Second), time.Second)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

type run struct {
	record *timeline.Record
	judged *verdict.Report
}

// runs on real landscapes: those kept with the test (what no metric is made of was left out of their
// timelines), and those that the environment names.
func runs(t *testing.T) []run {
	t.Helper()
	found, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil || len(found) == 0 {
		t.Fatalf("find the runs: %v", err)
	}
	var all []run
	for _, path := range found {
		all = append(all, kept(t, path))
	}
	for _, pattern := range filepath.SplitList(os.Getenv(metricRuns)) {
		folders, err := filepath.Glob(pattern)
		if err != nil || len(folders) == 0 {
			t.Fatalf("%s names %q, where nothing is: %v", metricRuns, pattern, err)
		}
		for _, folder := range folders {
			record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, run{record, judgement(t, filepath.Join(folder, verdict.FileName))})
		}
	}
	return all
}

// kept is a run that was kept with the test.
func kept(t *testing.T, path string) run {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	record, err := timeline.Decode(unpacked)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return run{record, judgement(t, strings.TrimSuffix(path, ".jsonl.gz")+".verdict.json")}
}

func judgement(t *testing.T, path string) *verdict.Report {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	judged := &verdict.Report{}
	if err := json.Unmarshal(content, judged); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return judged
}
