// Package prometheustest runs a real Prometheus in tests and asks it. With -short, tests that ask for one are skipped
// unless one is required. It knows nothing of what is measured.
package prometheustest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/integrationtest"
	"github.com/transplant-sim/transplant/clusters/tied"
)

// required is the environment variable under which a machine without Prometheus fails the tests that need it. CI sets
// it.
const required = "TRANSPLANT_REQUIRE_PROMETHEUS"

// Installed says whether a program of Prometheus is there. Where one is required and is not, the test fails.
func Installed(t testing.TB, name string) (path string, is bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv(required) != "" {
		t.Fatalf("there is no %s, and %s wants one", name, required)
	}
	return path, err == nil
}

// Program finds a program of Prometheus, or skips the test; where one is required it fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	if os.Getenv(required) == "" {
		integrationtest.Mark(t, "runs "+name)
	}
	path, is := Installed(t, name)
	if is {
		return path
	}
	t.Skipf("there is no %s: install Debian's package prometheus to have the queries of the dashboards executed", name)
	return ""
}

// Server is a Prometheus that runs until it is stopped, or the test ends.
type Server struct {
	t   testing.TB
	url string
	// Stop ends it; once more does nothing.
	Stop func()
}

var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// Start a Prometheus with a configuration and a folder for its data, and wait until it answers.
func Start(t testing.TB, config, data string) *Server {
	t.Helper()
	s := &Server{t: t}
	command := exec.CommandContext(t.Context(), Program(t, "prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:0")
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tied.Start(command, syscall.SIGKILL); err != nil {
		t.Fatal(err)
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
	s.Stop = sync.OnceFunc(func() {
		_ = command.Process.Kill() // it may have ended already; Wait says so
		<-ended
		_ = command.Wait()
	})
	t.Cleanup(s.Stop)
	select {
	case at := <-address:
		s.url = "http://" + at
	case <-time.After(time.Minute):
		t.Fatal("Prometheus does not say where it listens")
	case text := <-ended:
		ended <- text
		t.Fatalf("Prometheus has ended:\n%s", text)
	}
	s.waitReady()
	return s
}

// waitReady until it answers queries: it listens before it has opened its data.
func (s *Server) waitReady() {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		answer, err := http.Get(s.url + "/-/ready")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("Prometheus is not ready: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Series of an answer.
type Series struct {
	Labels  map[string]string
	Samples []Sample
}

// Sample is a value at a moment.
type Sample struct {
	At    time.Time
	Value float64
}

// numbers are the values that are some.
func (s Series) numbers() []float64 {
	var all []float64
	for _, sample := range s.Samples {
		if !math.IsNaN(sample.Value) && !math.IsInf(sample.Value, 0) {
			all = append(all, sample.Value)
		}
	}
	return all
}

// Answered says whether there is a number in an answer: a quotient of zeros is none.
func Answered(all []Series) bool {
	return slices.ContainsFunc(all, func(s Series) bool { return len(s.numbers()) > 0 })
}

// Query at a moment.
func (s *Server) Query(expr string, at time.Time) ([]Series, error) {
	return s.ask("/api/v1/query", url.Values{"query": {expr}, "time": {fmt.Sprint(at.Unix())}})
}

// QueryRange over a time, step by step.
func (s *Server) QueryRange(expr string, from, to time.Time, step time.Duration) ([]Series, error) {
	return s.ask("/api/v1/query_range", url.Values{"query": {expr}, "start": {fmt.Sprint(from.Unix())},
		"end": {fmt.Sprint(to.Unix())}, "step": {fmt.Sprint(step.Seconds())}})
}

// LabelValues are those that a label has in the series of a selector, as Grafana asks for the values of a variable.
func (s *Server) LabelValues(label, selector string, from, to time.Time) ([]string, error) {
	return get[[]string](s, "/api/v1/label/"+label+"/values",
		url.Values{"match[]": {selector}, "start": {fmt.Sprint(from.Unix())}, "end": {fmt.Sprint(to.Unix())}})
}

// pair is a sample as Prometheus writes it: [seconds, "value"].
type pair [2]json.RawMessage

func (p pair) sample() (Sample, error) {
	var seconds float64
	var text string
	if err := errors.Join(json.Unmarshal(p[0], &seconds), json.Unmarshal(p[1], &text)); err != nil {
		return Sample{}, fmt.Errorf("read the sample %s: %w", p, err)
	}
	value, err := strconv.ParseFloat(text, 64)
	return Sample{At: time.UnixMilli(int64(math.Round(seconds * 1000))), Value: value}, err
}

func (s *Server) ask(path string, values url.Values) ([]Series, error) {
	found, err := get[struct {
		Result []struct {
			Metric map[string]string
			Value  *pair
			Values []pair
		}
	}](s, path, values)
	if err != nil {
		return nil, err
	}
	var all []Series
	for _, r := range found.Result {
		if r.Value != nil {
			r.Values = []pair{*r.Value}
		}
		series := Series{Labels: r.Metric}
		for _, p := range r.Values {
			sample, err := p.sample()
			if err != nil {
				return nil, err
			}
			series.Samples = append(series.Samples, sample)
		}
		all = append(all, series)
	}
	return all, nil
}

// get the data of an answer.
func get[T any](s *Server, path string, values url.Values) (T, error) {
	var body struct {
		Status, Error string
		Data          T
	}
	answer, err := http.Get(s.url + path + "?" + values.Encode())
	if err != nil {
		return body.Data, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return body.Data, err
	}
	if body.Status != "success" {
		return body.Data, errors.New(body.Error)
	}
	return body.Data, nil
}

var inLegend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// tableLines are the lines of a table in Markdown about what a query has found, in order: the least, the last and the
// greatest of each series.
func tableLines(legend string, found []Series) []string {
	var lines []string
	for _, s := range found {
		least, last, most := "", "", ""
		if all := s.numbers(); len(all) > 0 {
			least, last, most = shown(slices.Min(all)), shown(all[len(all)-1]), shown(slices.Max(all))
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", named(legend, s), least, last, most))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func shown(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) }

func named(legend string, s Series) string {
	return inLegend.ReplaceAllStringFunc(legend, func(label string) string {
		return s.Labels[inLegend.FindStringSubmatch(label)[1]]
	})
}

// Twice finds a series that another one differs from in nothing but its name: a panel would draw it twice.
func Twice(all []Series) (Series, bool) {
	names := map[string]string{}
	for _, s := range all {
		others := maps.Clone(s.Labels)
		delete(others, "__name__")
		key, name := fmt.Sprint(others), s.Labels["__name__"]
		if before, seen := names[key]; seen && before != name {
			return s, true
		}
		names[key] = name
	}
	return Series{}, false
}

// Unnamed finds a series that lacks a label that the legend names.
func Unnamed(legend string, all []Series) (Series, bool) {
	for _, label := range inLegend.FindAllStringSubmatch(legend, -1) {
		for _, s := range all {
			if s.Labels[label[1]] == "" {
				return s, true
			}
		}
	}
	return Series{}, false
}
