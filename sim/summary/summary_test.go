package summary

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/verdict"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	passed := &verdict.Report{
		Scenario: "well", Backend: "small", Verdict: verdict.Passed, WallSeconds: 86.3,
		Measures: measure.Measures{RTOSeconds: new(23.71), RPOSeconds: new(0.4), LostWrites: new(0),
			APIDowntimeSeconds: new(12.0)},
		Objectives: []verdict.Objective{{Measure: "rto", Max: 45, Measured: new(23.71)},
			{Measure: "rpo", Max: 2, Measured: new(0.4)}},
	}
	failed := &verdict.Report{
		Scenario: "ill", Backend: "small", RandomSeed: 7, TimeoutMultiplier: 3, Extensions: []string{"vault"},
		ExtensionFiles: []string{"mine/vault.yaml"}, Verdict: verdict.Failed, WallSeconds: 9,
		Measures:   measure.Measures{RTOSeconds: new(50.0)},
		Objectives: []verdict.Objective{{Measure: "rto", Max: 45, Measured: new(50.0)}},
		Violations: []verdict.Violation{{Oracle: "expect", At: 1.25, Message: "step 2: shoot_a | *gone*\nand <b>"}},
		Faults:     []verdict.Fault{{Name: "fire", Hits: 15}},
	}
	var out strings.Builder
	if err := Write(&out, []Run{
		{Name: "well", Folder: "out/well", Report: passed}, {Name: "ill", Folder: "out/ill", Report: failed},
		{Name: "unrun", Folder: "out/unrun", Err: errors.New("no landscape")},
	}, nil); err != nil {
		t.Fatal(err)
	}
	want := `## Failed: 3 scenarios, 1 Passed, 1 Failed, 1 Error

| scenario | verdict | RTO | RPO | lost writes | API downtime | took |
|---|---|--:|--:|--:|--:|--:|
| well | Passed | 23.7 s (at most 45) | 0.4 s (at most 2) | 0 | 12.0 s | 86 s |
| ill | **Failed** | **50.0 s (at most 45)** |  |  |  | 9 s |
| unrun | **Error** | | | | | |

### ill: Failed

- **expect** at 1.2 s: step 2: shoot\_a \| \*gone\* and &lt;b>
- the fault fire hit 15 times

The evidence is in ` + "`out/ill`. The same again: `transplant run out/ill/scenario.yaml " +
		"--backend small --seed 7 --timeout-multiplier 3 --extension mine/vault.yaml`" + `

### unrun: Error

- no landscape

`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// If a landscape could not be ended, no run is to blame, but the verdict of the whole is Error.
func TestWrite_LandscapeCannotBeEnded_IsError(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := Write(&out, []Run{{Name: "well", Report: &verdict.Report{Verdict: verdict.Passed}}},
		[]string{"landscape run: process 7 stays"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Error: 1 scenario, 1 Passed\n",
		"### Between the runs\n\n- landscape run: process 7 stays\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not said:\n%s", want, out.String())
		}
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Run{
		"Passed": {Report: &verdict.Report{Verdict: verdict.Passed}},
		"Failed: expect: it was gone": {Report: &verdict.Report{Verdict: verdict.Failed,
			Violations: []verdict.Violation{{Oracle: "expect", Message: "it was gone"}, {Oracle: "settle"}}}},
		"Inconclusive: it never hit": {Report: &verdict.Report{Verdict: verdict.Inconclusive,
			Reasons: []string{"it never hit", "and more"}}},
		"Error: no landscape": {Err: errors.New("no landscape")},
		"Error":               {},
	} {
		if got := s.Why(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMuchIsCutShort(t *testing.T) {
	t.Parallel()
	r := &verdict.Report{Verdict: verdict.Failed}
	for range 25 {
		r.Violations = append(r.Violations, verdict.Violation{Oracle: "NoOrphans", Message: "something is left"})
	}
	var out strings.Builder
	if err := Write(&out, []Run{{Name: "ill", Report: r}}, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "something is left"); n != mostLines || !strings.Contains(out.String(),
		"- and 5 more\n") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}
