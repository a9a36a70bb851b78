package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	file := filepath.Join(root, "summary.md")
	_, err := printed(t.Context(), NewMergeCommand(), good, bad, "--summary", file)
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
	out, err = printed(t.Context(), NewMergeCommand(), shards...)
	if code := (ended{}); !errors.As(err, &code) || code.ExitCode() != 2 || !strings.Contains(out, "no evidence of it") {
		t.Errorf("a shard without its runs: %v\n%s", err, out)
	}
}
