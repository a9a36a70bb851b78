package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
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
		"\"\"\n  tag: v3\n    podFailure:\n      pauseImage: gcr.io/pause\n"
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
		"  tag: v0.1.0", "gcr.io/pause", "transplant.dev/chaos-mesh/pause:v0.1.0").Replace(values)
	if string(got) != want {
		t.Errorf("the values are\n%s\nwanted\n%s", got, want)
	}
	if err := lay(strings.Replace(values, "images:", "pictures:", 1)); err == nil || !strings.Contains(err.Error(),
		"1 of the 3 lines") {
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

// The programs that stand in for those of Chaos Mesh call Debian's with what they were given.
func TestStandIns_CallDebiansPrograms(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"stress-ng", "nsenter"} {
		script := "#!/bin/sh\necho " + name + " \"$@\"\n"
		if err := executabletest.Write(filepath.Join(folder, name), []byte(script)); err != nil {
			t.Fatal(err)
		}
	}
	for call, want := range map[string]string{
		"nsexec -l -n /proc/1/ns/net -- tc qdisc": "nsenter --net=/proc/1/ns/net -- tc qdisc",
		"nsexec -p /proc/1/ns/pid -- stress-ng":   "nsenter --no-fork --pid=/proc/1/ns/pid -- stress-ng",
		"nsexec -m /proc/1/ns/mnt -- ls":          "",
		"memStress --workers 2 --size 32MB":       "stress-ng --vm 2 --vm-bytes 67108864 --vm-keep --vm-hang 0",
		"memStress --workers 3 --size 1GiB":       "stress-ng --vm 3 --vm-bytes 3221225472 --vm-keep --vm-hang 0",
		"memStress --workers 1 --size 1.5gb":      "stress-ng --vm 1 --vm-bytes 1610612736 --vm-keep --vm-hang 0",
		"memStress --workers 2 --size 512m":       "stress-ng --vm 2 --vm-bytes 1073741824 --vm-keep --vm-hang 0",
		"memStress --workers 2 --size 4096":       "stress-ng --vm 2 --vm-bytes 8192 --vm-keep --vm-hang 0",
		"memStress --workers 2 --size much":       "",
		"memStress --size 10%":                    "stress-ng --vm 1 --vm-bytes 10% --vm-keep --vm-hang 0",
		"memStress --workers 1":                   "stress-ng --vm 1 --vm-bytes 100% --vm-keep --vm-hang 0",
		"memStress --time 3s":                     "",
	} {
		words := strings.Fields(call)
		command := exec.CommandContext(t.Context(), filepath.Join("rootfs", "usr", "local", "bin", words[0]), words[1:]...)
		command.Env = []string{"PATH=" + folder + ":/usr/bin:/bin"}
		said, err := command.Output()
		if got := strings.TrimSpace(string(said)); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: calls %q (%v), want %q", call, got, err, want)
		}
	}
}
