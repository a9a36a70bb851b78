package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// The small world crashes no actor. Therefore, no point has a hit, and all are Inconclusive.
const sweepRest = `  steps: [{fault: {name: dies, crash: {actor: gardenlet-a, target: a}}}]
  sweep: [{fault: dies, upTo: 3}]
`

func TestSweep_Points_RunOneByOne(t *testing.T) {
	t.Parallel()
	s, folder := &small{t: t}, t.TempDir()
	out, worst, err := runFiles(t, s, folder, scene(t, t.TempDir(), "swept", empty, sweepRest))
	if err != nil || worst != verdict.Inconclusive {
		t.Fatalf("verdict %s, %v\n%s", worst, err, out)
	}
	for _, want := range []string{"swept: 0 of 3 points Passed",
		`swept-dies-1: Inconclusive: the fault "dies", `, "swept-dies-3: Inconclusive",
		"3 scenarios: Inconclusive"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	// The scenario that is kept beside the evidence runs the point again.
	content, err := os.ReadFile(filepath.Join(folder, "swept-dies-2", verdict.ScenarioName))
	if err != nil {
		t.Fatal(err)
	}
	again, err := scenario.Parse(verdict.ScenarioName, content)
	if err != nil || again.Metadata.Name != "swept-dies-2" || len(again.Spec.Sweep) != 0 ||
		again.Spec.Steps[0].Fault.Crash.Nth != 2 {
		t.Errorf("%v:\n%s", err, content)
	}
}

func TestCountOfASweep(t *testing.T) {
	t.Parallel()
	s := sweep{name: "swept", all: 9, points: points("one", "two", "three")}
	as := func(v verdict.Verdict) summary.Run { return summary.Run{Report: &verdict.Report{Verdict: v}} }
	got := s.count(map[string]summary.Run{"one": as(verdict.Passed), "two": as(verdict.Failed)})
	if want := "swept: 1 of 3 points Passed, a sample of 9\n  two: Failed\n  three: Error"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	cut := map[string]summary.Run{"one": as(verdict.Passed), "two": {Err: errNotRun}, "three": {Err: errNotRun}}
	if got, want := s.count(cut),
		"swept: 1 of 3 points Passed, a sample of 9\n  2 never started: the command was interrupted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.all = 3
	passed := map[string]summary.Run{"one": as(verdict.Passed), "two": as(verdict.Passed), "three": as(verdict.Passed)}
	if got, want := s.count(passed), "swept: 3 of 3 points Passed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASampleIsSeededAndInOrder(t *testing.T) {
	t.Parallel()
	all := points("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")
	chosen := map[string]bool{}
	for seed := range uint64(20) {
		sample := names(scenario.Sample(all, 3, seed, "swept"))
		if again := names(scenario.Sample(all, 3, seed, "swept")); again != sample {
			t.Errorf("seed %d gives %s, then %s", seed, sample, again)
		}
		if len(sample) != 3 || sample[0] >= sample[1] || sample[1] >= sample[2] {
			t.Errorf("seed %d gives %s", seed, sample)
		}
		chosen[sample] = true
	}
	if len(chosen) < 2 {
		t.Error("every seed gives the same sample")
	}
	for _, n := range []int{0, 12, 13} {
		if got := names(scenario.Sample(all, n, 1, "swept")); got != "abcdefghijkl" {
			t.Errorf("a sample of %d is %s", n, got)
		}
	}
}

func points(of ...string) []*scenario.Scenario {
	var all []*scenario.Scenario
	for _, name := range of {
		s := &scenario.Scenario{}
		s.Metadata.Name = name
		all = append(all, s)
	}
	return all
}

func names(of []*scenario.Scenario) string {
	text := ""
	for _, s := range of {
		text += s.Metadata.Name
	}
	return text
}
