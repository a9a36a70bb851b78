package dashboards_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// requirePrometheus is the environment variable under which a machine without Prometheus fails the tests that need it.
// CI sets it.
const requirePrometheus = "TRANSPLANT_REQUIRE_PROMETHEUS"

// metricRuns names folders of more runs to be loaded, separated like a PATH; each may be a pattern.
const metricRuns = "TRANSPLANT_METRIC_RUNS"

// prometheus is a real one that has loaded real runs, and the time that they span.
type prometheus struct {
	t        *testing.T
	url      string
	from, to time.Time
	runs     []window
}

// window is the time of one run.
type window struct{ from, to time.Time }

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv(requirePrometheus) != "" {
		t.Fatalf("there is no %s, and %s wants one", name, requirePrometheus)
	}
	t.Skipf("there is no %s: install Debian's package prometheus to have the queries of the dashboards executed", name)
	return ""
}

// start loads runs as the documentation says, and starts a Prometheus on them.
func start(t *testing.T) *prometheus {
	t.Helper()
	server, promtool := program(t, "prometheus"), program(t, "promtool")
	p := &prometheus{t: t}
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	for i, run := range runs(t) {
		path := filepath.Join(folder, fmt.Sprintf("%d.om", i))
		var samples bytes.Buffer
		if err := metrics.WriteSamples(&samples, run.record, run.judged); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, samples.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", path, data).CombinedOutput(); err != nil {
			t.Fatalf("load %s: %v\n%s", path, err, out)
		}
		begin, end := run.record.Started, run.record.Started.Add(run.record.Events[len(run.record.Events)-1].At)
		p.runs = append(p.runs, window{begin, end})
		if p.from.IsZero() || begin.Before(p.from) {
			p.from = begin
		}
		if end.After(p.to) {
			p.to = end
		}
	}
	p.serve(server, folder, data)
	return p
}

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

func (p *prometheus) serve(server, folder, data string) {
	p.t.Helper()
	config := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(config, []byte("global: {}\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	command := exec.CommandContext(p.t.Context(), server, "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:0")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := command.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(said); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				address <- found[1]
			}
		}
		ended <- all.String()
	}()
	p.t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended, which is told below
		<-ended
		_ = command.Wait()
	})
	select {
	case at := <-address:
		p.url = "http://" + at
	case text := <-ended:
		ended <- text
		p.t.Fatalf("Prometheus has ended:\n%s", text)
	}
	p.waitReady()
}

// waitReady until it answers queries: it listens before it has opened its data.
func (p *prometheus) waitReady() {
	p.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		answer, err := http.Get(p.url + "/-/ready")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("Prometheus is not ready: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// series of an answer, by their labels.
type series map[string]string

// query at the end of all runs, or over each of them.
func (p *prometheus) query(expr string, instant bool) ([]series, error) {
	if instant {
		return p.ask("/api/v1/query", url.Values{"query": {expr}, "time": {fmt.Sprint(p.to.Add(time.Second).Unix())}})
	}
	var all []series
	for _, w := range p.runs {
		found, err := p.ask("/api/v1/query_range", url.Values{
			"query": {expr}, "start": {fmt.Sprint(w.from.Unix())}, "end": {fmt.Sprint(w.to.Add(time.Second).Unix())}, "step": {"1"},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (p *prometheus) ask(path string, values url.Values) ([]series, error) {
	answer, err := http.Get(p.url + path + "?" + values.Encode())
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var body struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric series
				Value  []any
			}
		}
	}
	if err := json.Unmarshal(content, &body); err != nil {
		return nil, err
	}
	if body.Status != "success" {
		return nil, errors.New(body.Error)
	}
	var all []series
	for _, r := range body.Data.Result {
		if len(r.Value) == 2 {
			r.Metric["value"] = fmt.Sprint(r.Value[1])
		}
		all = append(all, r.Metric)
	}
	return all, nil
}

type run struct {
	record *timeline.Record
	judged *verdict.Report
}

// runs that were told on real landscapes: those kept with the test (what no metric is made of was left out of their
// timelines), and those that the environment names.
func runs(t *testing.T) []run {
	t.Helper()
	kept, err := filepath.Glob("testdata/*.jsonl.gz")
	if err != nil || len(kept) == 0 {
		t.Fatalf("find the runs: %v", err)
	}
	var all []run
	for _, path := range kept {
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
		all = append(all, run{record, judgement(t, strings.TrimSuffix(path, ".jsonl.gz")+".verdict.json")})
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
