package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheChartNamesOurImages(t *testing.T) {
	t.Parallel()
	theirs, chart := t.TempDir(), filepath.Join(t.TempDir(), "chart")
	values := "customLabels: {}\nimages:\n  # of all\n  registry: \"ghcr.io\"\n\n  tag: \"v2\"\nother:\n  registry: \"\"\n  tag: v3\n"
	lay := func(values string) error {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(theirs, "helm", "chaos-mesh"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(theirs, "helm", "chaos-mesh", "values.yaml"), []byte(values), 0o600); err != nil {
			t.Fatal(err)
		}
		return (&maker{theirs: theirs, version: "v0.1.0", chart: chart}).layChart(t.Context())
	}
	if err := lay(values); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`  registry: "ghcr.io"`, "  registry: transplant.dev", `  tag: "v2"`, "  tag: v0.1.0").Replace(values)
	if string(got) != want {
		t.Errorf("the values are\n%s\nwanted\n%s", got, want)
	}
	if err := lay(strings.Replace(values, "images:", "pictures:", 1)); err == nil || !strings.Contains(err.Error(), "0 of the 2 lines") {
		t.Errorf("values that name images in another way: got %v", err)
	}
}
