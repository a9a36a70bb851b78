// Package prometheustest runs a real Prometheus in tests and asks it. It knows nothing of what is measured.
package prometheustest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// required is the environment variable under which a machine without Prometheus fails the tests that need it. CI sets it.
const required = "TRANSPLANT_REQUIRE_PROMETHEUS"

// Installed tells whether a program of Prometheus is there. Where one is required and is not, the test fails.
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
	command := exec.CommandContext(t.Context(), Program(t, "prometheus"), "--config.file="+config, "--storage.tsdb.path="+data, "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:0")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
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
		_ = command.Process.Kill() // it may have ended, which is told below
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

// Series of an answer, by their labels; those of a query at one moment have their value as a label too.
type Series map[string]string

// Query at a moment.
func (s *Server) Query(expr string, at time.Time) ([]Series, error) {
	return s.ask("/api/v1/query", url.Values{"query": {expr}, "time": {fmt.Sprint(at.Unix())}})
}

// QueryRange over a time, second by second.
func (s *Server) QueryRange(expr string, from, to time.Time) ([]Series, error) {
	return s.ask("/api/v1/query_range", url.Values{"query": {expr}, "start": {fmt.Sprint(from.Unix())}, "end": {fmt.Sprint(to.Unix())}, "step": {"1"}})
}

func (s *Server) ask(path string, values url.Values) ([]Series, error) {
	answer, err := http.Get(s.url + path + "?" + values.Encode())
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
				Metric Series
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
	var all []Series
	for _, r := range body.Data.Result {
		if len(r.Value) == 2 {
			r.Metric["value"] = fmt.Sprint(r.Value[1])
		}
		all = append(all, r.Metric)
	}
	return all, nil
}

var inLegend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// Table of a query's answer in Markdown, with its series named as Grafana shows them.
func Table(legend string, found []Series) string {
	var lines []string
	for _, s := range found {
		lines = append(lines, "| "+named(legend, s)+" | "+s["value"]+" |")
	}
	slices.Sort(lines)
	return "| series | value |\n|---|---|\n" + strings.Join(slices.Compact(lines), "\n") + "\n\n"
}

func named(legend string, s Series) string {
	return inLegend.ReplaceAllStringFunc(legend, func(label string) string { return s[inLegend.FindStringSubmatch(label)[1]] })
}

// Unnamed finds a series that lacks a label that the legend names.
func Unnamed(legend string, all []Series) (Series, bool) {
	for _, label := range inLegend.FindAllStringSubmatch(legend, -1) {
		for _, s := range all {
			if s[label[1]] == "" {
				return s, true
			}
		}
	}
	return nil, false
}
