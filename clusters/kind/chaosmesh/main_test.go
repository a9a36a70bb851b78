package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The definitions are made of the types that the main module has.
func TestProgramsAndDefinitionsAreOfTheSameTypes(t *testing.T) {
	t.Parallel()
	version := func(file, pattern string) string {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern + ` (v\S+)`).FindSubmatch(content)
		if found == nil {
			t.Fatalf("%s has no line %q", file, pattern)
		}
		return string(found[1])
	}
	const types = `github\.com/chaos-mesh/chaos-mesh/api`
	ours, theirs := version("../../../go.mod", types), version("programs/go.mod", types+" => "+types)
	if ours != theirs {
		t.Errorf("definitions are made of %s, programs of %s", ours, theirs)
	}
}

func TestTheChartNamesOurImages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a generator and reads the types of Chaos Mesh with it: not with -short")
	}
	theirs, chart := t.TempDir(), filepath.Join(t.TempDir(), "chart")
	values := "customLabels: {}\nimages:\n  # of all\n  registry: \"ghcr.io\"\n\n  tag: \"v2\"\nother:\n  registry: " +
		"\"\"\n  tag: v3\n"
	lay := func(values string) error {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(theirs, "helm", "chaos-mesh"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"Chart.yaml": "name: chaos-mesh\n", "values.yaml": values} {
			if err := os.WriteFile(filepath.Join(theirs, "helm", "chaos-mesh", name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return (&maker{source: ".", theirs: theirs, version: "v0.1.0", chart: chart}).layChart(t.Context())
	}
	if err := lay(values); err != nil {
		t.Fatal(err)
	}
	kinds, err := os.ReadFile(filepath.Join(chart, "crds", "chaos-mesh.org_networkchaos.yaml"))
	if err != nil || !strings.Contains(string(kinds), "partitionBehavior") {
		t.Errorf("the definition of NetworkChaos has not the fields of its type: %v", err)
	}
	got, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`  registry: "ghcr.io"`, "  registry: transplant.dev", `  tag: "v2"`,
		"  tag: v0.1.0").Replace(values)
	if string(got) != want {
		t.Errorf("the values are\n%s\nwanted\n%s", got, want)
	}
	if err := lay(strings.Replace(values, "images:", "pictures:", 1)); err == nil || !strings.Contains(err.Error(),
		"0 of the 2 lines") {
		t.Errorf("values that name images in another way: got %v", err)
	}
}

// What is no chart is not removed.
func TestOnlyAChartIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	m := &maker{chart: folder}
	mine := filepath.Join(folder, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.clearChart(); err == nil || !strings.Contains(err.Error(), "there is something else in the folder") {
		t.Errorf("another folder: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"a chart", "nothing"} {
		if err := m.clearChart(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the chart of before is still there: %v", err)
	}
}
