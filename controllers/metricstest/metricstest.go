// Package metricstest holds the metrics of a program to what all of them promise: names and units as Prometheus
// recommends, and a line in docs/metrics.md. It is for tests only, and knows no metric.
package metricstest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Check fails the test for every metric that breaks a rule of Prometheus, or that docs/metrics.md does not list with
// all of its labels. Metrics without a series are not seen.
func Check(t *testing.T, gatherer prometheus.Gatherer) {
	t.Helper()
	problems, err := testutil.GatherAndLint(gatherer)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	listed := rows(t)
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) == 0 {
		t.Error("there is no metric")
	}
	for _, family := range families {
		row, is := listed[family.GetName()]
		if !is {
			t.Errorf("%s is not in docs/metrics.md", family.GetName())
			continue
		}
		for _, label := range family.GetMetric()[0].GetLabel() {
			if !strings.Contains(row, "`"+label.GetName()+"`") {
				t.Errorf("%s has the label %s, of which docs/metrics.md says nothing: %s", family.GetName(), label.GetName(), row)
			}
		}
	}
}

// rows of the tables in docs/metrics.md, by metric.
func rows(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if name, rest, is := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); is && strings.HasPrefix(line, "| `") {
			listed[name] = rest
		}
	}
	return listed
}

// root of the module, above the folder of the test.
func root(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		} else if above := filepath.Dir(folder); !errors.Is(err, fs.ErrNotExist) || above == folder {
			t.Fatalf("there is no go.mod above: %v", err)
		} else {
			folder = above
		}
	}
}
