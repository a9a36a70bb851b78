package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

func TestRun_TwoJobs_RunScenariosAtOnce(t *testing.T) {
	t.Parallel()
	s, folder, scenes := &small{t: t, meet: &sync.WaitGroup{}}, t.TempDir(), t.TempDir()
	s.meet.Add(2) // one after the other they would wait for ever
	wait := "  steps: [{wait: {for: 300ms, because: both run at once}}]"
	files := []string{
		scene(t, scenes, "first", empty, wait), scene(t, scenes, "second", empty, wait),
		scene(t, scenes, "other", "{seeds: [{name: z}]}",
			"  steps: [{expect: {that: \"seed('z').shoots == 7\", within: 1ms}}]"),
	}
	out, worst, err := runFilesAtOnce(t.Context(), s, 2, folder, files...)
	if err != nil || worst != verdict.Failed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	for name, want := range map[string]verdict.Verdict{"first": verdict.Passed, "second": verdict.Passed,
		"other": verdict.Failed} {
		if got := readReport(t, folder+"/"+name).Verdict; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		if at := strings.Index(out, string(want)+"  "+name); at < 0 ||
			strings.Contains(between(out, name+"  a small scenario", out[max(at, 0):]), " begins") {
			t.Errorf("%s is not printed in one piece:\n%s", name, out)
		}
	}
	if slices.Sort(s.names); s.names[0] != "run" || s.names[len(s.names)-1] != "run-2" {
		t.Errorf("landscapes %q", s.names)
	}
	for i, w := range s.started {
		if w.Stopped() != 1 {
			t.Errorf("landscape %s was ended %d times", s.names[i], w.Stopped())
		}
	}
}

// The end of a long log names what did not pass, and why; a landscape that cannot be ended makes the verdict Error,
// although every run has passed.
func TestTheEndNamesWhatDidNotPass(t *testing.T) {
	t.Parallel()
	folder, scenes, summary := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "summary.md")
	files := []string{
		scene(t, scenes, "first", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"),
		scene(t, scenes, "second", empty, "  steps: [{expect: {that: \"seed('a').shoots == 7\", within: 1ms}}]"),
	}
	s := &small{t: t, stays: errors.New("process 7 stays")}
	out, worst, err := runFilesWith(t.Context(), s, func(r *runner) { r.summary = summary }, folder, files...)
	if err != nil || worst != verdict.Failed {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	_, end, _ := strings.Cut(out, "\n2 scenarios: Failed\n")
	lines := strings.Split(end, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "  second: Failed: expect: ") ||
		lines[1] != "  landscape run: end the landscape: process 7 stays" {
		t.Errorf("the end is %q", lines)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "process 7 stays") {
		t.Errorf("%v, the summary is\n%s", err, text)
	}
	if out, worst, err := runFiles(t, s, folder, files[0]); err != nil || worst != verdict.Error {
		t.Errorf("verdict %s of a run that passes, %v\n%s", worst, err, out)
	}
}

// between the first occurrence of a text and what ends the whole.
func between(whole, begin, rest string) string {
	return strings.TrimSuffix(whole[max(strings.Index(whole, begin), 0):], rest)
}

func TestWhereNothingCanBeAppendedIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	file, nowhere := scene(t, t.TempDir(), "one", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]"),
		filepath.Join(t.TempDir(), "none", "file")
	for flag, r := range map[string]*runner{"--summary": {summary: nowhere}, "--history": {history: nowhere}} {
		r.backends, r.backend, r.clock, r.stretch, r.jobs = map[string]Backend{"small": &small{t: t}}, "small",
			clock.RealClock{}, 1, 1
		if _, err := r.accept(t.Context(), []string{file}); err == nil || !strings.HasPrefix(err.Error(), flag+": open ") {
			t.Errorf("%s: error %v", flag, err)
		}
	}
}

// Two runs never write into the same folder. The second one fails with an error, and writes nothing.
func TestAFolderHasOneRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	release, err := timeline.Hold(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	s, file := &small{t: t}, scene(t, t.TempDir(), "one", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	out, worst, err := runFiles(t, s, folder, file)
	if err != nil || worst != verdict.Error || !strings.Contains(out, "another run writes its evidence to "+folder) ||
		len(s.started) != 0 {
		t.Errorf("verdict %s, %v, %d landscapes:\n%s", worst, err, len(s.started), out)
	}
	if content, err := os.ReadFile(filepath.Join(folder, timeline.FileName)); err != nil || len(content) > 0 {
		t.Errorf("it has written a timeline: %v, %s", err, content)
	}
	release()
	if out, worst, err := runFiles(t, s, folder, file); err != nil || worst != verdict.Passed {
		t.Errorf("after the other: verdict %s, %v:\n%s", worst, err, out)
	}
}

func TestFoldersOfAllKindsAreCompared(t *testing.T) {
	t.Parallel()
	got, err := alike([]string{"one", "two"})
	if err != nil || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("relative ones: %v, %v", got, err)
	}
	here, err := filepath.Abs("one")
	if err != nil {
		t.Fatal(err)
	}
	if got, err = alike([]string{"one", "/two"}); err != nil || !slices.Equal(got, []string{here, "/two"}) {
		t.Errorf("one of each: %v, %v", got, err)
	}
}

func TestJobsThatCannotBe(t *testing.T) {
	t.Parallel()
	file := scene(t, t.TempDir(), "one", empty, "  steps: [{wait: {for: 1ms, because: of nothing}}]")
	for name, r := range map[string]*runner{"none": {jobs: 0}, "two that are kept": {jobs: 2, keep: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.clock, r.stretch = clock.RealClock{}, 1
			if _, err := r.accept(t.Context(), []string{file}); err == nil || !strings.HasPrefix(err.Error(), "--jobs ") {
				t.Errorf("error %v", err)
			}
		})
	}
}
