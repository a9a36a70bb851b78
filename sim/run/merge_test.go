package run

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/run/selection"
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
	var listed []listedRun
	out, err = printed(t.Context(), NewMergeCommand(), good, bad, "-o", "json")
	if unread := json.Unmarshal([]byte(out), &listed); unread != nil || err == nil || len(listed) != 2 ||
		listed[0].Scenario != "bad" || listed[0].Verdict != verdict.Failed || listed[0].Report == nil ||
		listed[1].Scenario != "good" || listed[1].Folder != filepath.Join(good, "good") {
		t.Errorf("for programs: %v, %v\n%s", unread, err, out)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, timeline.FileName), []byte("what?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string]string{"-o=json": `"scenario": "good"`, "--json": `"scenario":"good"`} {
		out, err = printed(t.Context(), NewJudgeCommand(), filepath.Join(good, "good"), broken, form)
		if err == nil || !strings.Contains(err.Error(), broken) || !strings.Contains(out, want) ||
			!strings.Contains(out, filepath.Join(good, "good")) {
			t.Errorf("%s of a run, and of one that cannot be read: %v\n%s", form, err, out)
		}
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
		shards = append(shards, runShard(t, root, part, files))
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

// runShard in a folder of its own, where an earlier one may have been.
func runShard(t *testing.T, root, part string, files []string) (folder string) {
	t.Helper()
	folder = filepath.Join(root, "shard-"+part[:1])
	_, got, err := runFilesWith(t.Context(), &small{t: t}, func(r *runner) {
		if err := r.shard.Set(part); err != nil {
			t.Fatal(err)
		}
	}, folder, files...)
	if err != nil || got != verdict.Passed {
		t.Fatalf("shard %s is %s, %v", part, got, err)
	}
	return folder
}

// What an earlier command has left in the folder of a shard is not evidence of the shard, whether the shard has run the
// same scenario, another one, or none yet.
func TestMerge_EvidenceOfAnEarlierCommand_DoesNotCount(t *testing.T) {
	t.Parallel()
	root, here := t.TempDir(), t.TempDir()
	var files []string
	for _, name := range []string{"one", "two", "three"} {
		files = append(files, scene(t, here, name, empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"))
	}
	for _, part := range []string{"1/3", "2/3", "3/3"} { // one run each, in the folder of the shard itself
		runShard(t, root, part, files)
	}
	shards := []string{runShard(t, root, "1/2", files), runShard(t, root, "2/2", files)}
	out, err := printed(t.Context(), NewMergeCommand(), shards...)
	if err != nil || !strings.HasPrefix(out, "## Passed: 3 ") {
		t.Errorf("two shards in the folders of three: %v\n%s", err, out)
	}
	dies := selection.Shard{}
	if err := dies.Set("1/2"); err != nil {
		t.Fatal(err)
	}
	plan, err := selection.PlanIn(shards[0])
	if err != nil || len(plan.Runs) != 2 {
		t.Fatalf("shard 1/2 has noted %v, %v, want two runs", plan, err)
	}
	if err := dies.Note(shards[0], plan.Runs, time.Now()); err != nil {
		t.Fatal(err)
	}
	out, err = printed(t.Context(), NewMergeCommand(), shards...)
	if code := (ended{}); !errors.As(err, &code) || code.ExitCode() != 2 || !strings.HasPrefix(out, "## Error: 3 ") ||
		strings.Count(out, "no evidence of it since") != 2 {
		t.Errorf("a shard that has started again and run nothing: %v\n%s", err, out)
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
