package run

import (
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Runs of several shards are one summary, with the gravest verdict.
func TestMerge_RunsOfShards_AreOneSummary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, c := range map[string]struct {
		steps string
		want  verdict.Verdict
	}{
		"good": {"  steps: [{wait: {for: 1ms, because: of nothing}}]", verdict.Passed},
		"bad":  {`  steps: [{expect: {that: "seed('a').shoots == 7", within: 1ms}}]`, verdict.Failed},
	} {
		file := scene(t, t.TempDir(), name, empty, c.steps)
		folder := filepath.Join(root, "shard-"+name, name)
		_, got, err := runFilesWith(t.Context(), &small{t: t}, func(*runner) {}, folder, file)
		if err != nil || got != c.want {
			t.Fatalf("%s is %s, %v; want %s", name, got, err, c.want)
		}
	}
	good, bad := filepath.Join(root, "shard-good"), filepath.Join(root, "shard-bad")
	file, cases := filepath.Join(root, "summary.md"), filepath.Join(root, "junit.xml")
	_, err := printed(t.Context(), NewMergeCommand(), good, bad, "--summary", file, "--junit", cases)
	if code := (ended{}); !errors.As(err, &code) || code.ExitCode() != 1 {
		t.Errorf("the gravest verdict is Failed, got %v", err)
	}
	page, unread := os.ReadFile(file)
	if unread != nil {
		t.Fatal(unread)
	}
	for _, want := range []string{
		"## Failed: 2 scenarios, 1 Passed, 1 Failed", "| bad | **Failed** |", "| good | Passed |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if diff := cmp.Diff(map[string]int{"good": 0, "bad": 1}, failures(t, cases)); diff != "" {
		t.Errorf("failures by suite (-want +got):\n%s", diff)
	}
	out, err := printed(t.Context(), NewMergeCommand(), good)
	if err != nil || !strings.HasPrefix(out, "## Passed: 1 ") {
		t.Errorf("good alone: %v\n%s", err, out)
	}
	_, err = printed(t.Context(), NewMergeCommand(), good, filepath.Join(good, "good"))
	if err == nil || !strings.Contains(err.Error(), "good is in ") {
		t.Errorf("twice the same: %v", err)
	}
}

// What a shard was to run and has not run is missed, and so is a whole shard.
func TestMerge_ShardThatDied_IsAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	wait := "  steps: [{wait: {for: 1ms, because: of nothing}}]"
	here := t.TempDir()
	var files []string
	for _, name := range []string{"one", "two", "three"} {
		files = append(files, scene(t, here, name, empty, wait))
	}
	var shards []string
	for _, part := range []string{"1/2", "2/2"} {
		shards = append(shards, filepath.Join(root, "shard-"+part[:1]))
		_, got, err := runFilesWith(t.Context(), &small{t: t}, func(r *runner) {
			if err := r.shard.Set(part); err != nil {
				t.Fatal(err)
			}
		}, shards[len(shards)-1], files...)
		if err != nil || got != verdict.Passed {
			t.Fatalf("shard %s is %s, %v", part, got, err)
		}
	}
	out, err := printed(t.Context(), NewMergeCommand(), shards...)
	if err != nil || !strings.HasPrefix(out, "## Passed: 3 ") {
		t.Errorf("both shards: %v\n%s", err, out)
	}
	if _, err = printed(t.Context(), NewMergeCommand(), shards[1]); err == nil ||
		!strings.Contains(err.Error(), "part 1 of 2 is missing") {
		t.Errorf("one shard: %v", err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if err := os.RemoveAll(filepath.Join(shards[1], name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(shards[1], timeline.FileName)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	cases := filepath.Join(root, "junit.xml")
	out, err = printed(t.Context(), NewMergeCommand(), append(shards, "--junit", cases)...)
	if code := (ended{}); !errors.As(err, &code) || code.ExitCode() != 2 || !strings.Contains(out, "no evidence of it") {
		t.Errorf("a shard without its runs: %v\n%s", err, out)
	}
	if diff := cmp.Diff(map[string]int{"one": 0, "three": 1, "two": 0}, failures(t, cases)); diff != "" {
		t.Errorf("failures and errors by suite (-want +got):\n%s", diff)
	}
}

// failures and errors by test suite of a file; of each suite something must say when it began, but for those that did
// not run.
func failures(t *testing.T, file string) map[string]int {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []struct {
			Name      string `xml:"name,attr"`
			Tests     int    `xml:"tests,attr"`
			Failures  int    `xml:"failures,attr"`
			Errors    int    `xml:"errors,attr"`
			Timestamp string `xml:"timestamp,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, s := range all.Suites {
		found[s.Name] = s.Failures + s.Errors
		if s.Tests == 0 || s.Timestamp == "" && s.Errors == 0 {
			t.Errorf("suite %q has %d tests and began at %q", s.Name, s.Tests, s.Timestamp)
		}
	}
	return found
}
