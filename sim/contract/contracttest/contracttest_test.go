package contracttest

import (
	stdcmp "cmp"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
	"github.com/transplant-sim/transplant/sim/contract"
)

// standIn writes the report that its environment names, as transplant does.
const standIn = `#!/bin/sh
[ "$1 $2 $3" = "contract x.yaml --out" ] || exit 2
echo "arguments: $5 $6"
[ -z "$REPORT" ] || cp "$REPORT" "$4/report.json"
exit "${CODE:-0}"
`

// TestInner is run by the test below, in a process of its own: its failures are what is tested.
func TestInner(t *testing.T) {
	program := os.Getenv("STAND_IN")
	if program == "" {
		t.Skip("it is run by TestRun_Report_IsSubtests")
	}
	Run(t, Options{File: "x.yaml", Program: program, Flags: []string{"--points", "none"},
		UnknownPasses: os.Getenv("UNKNOWN_PASSES") != ""})
}

func TestRun_Report_IsSubtests(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "transplant")
	if err := executabletest.Write(program, []byte(standIn)); err != nil {
		t.Fatal(err)
	}
	all := map[string]contract.Finding{
		"A2": {Outcome: contract.Conformant}, "B4": {Outcome: contract.NonConformant, Reason: "secrets/x is left"},
		"B5": {Outcome: contract.NonConformant, Reason: "r", Expected: "issue 7"},
		"C2": {Outcome: contract.NotApplicable, Reason: "no state"}, "D6": {Outcome: contract.NotJudged},
	}
	kept := map[string]contract.Finding{"A2": {Outcome: contract.Conformant}}
	open := map[string]contract.Finding{"A2": {Outcome: contract.Conformant},
		"B4": {Outcome: contract.Unknown, Reason: "not seen"}}
	for name, c := range map[string]struct {
		findings map[string]contract.Finding
		outdated []contract.ExpectedFailure
		env      string
		want     []string // what failed and what was skipped
		says     string
		code     string // of the program; that of the report if it is empty
	}{
		"a break": {all, nil, "", []string{"FAIL TestInner", "FAIL TestInner/Network/n", "FAIL TestInner/Network/n/B4",
			"SKIP TestInner/Network/n/B5", "SKIP TestInner/Network/n/C2"}, "secrets/x is left", ""},
		"all kept":   {kept, nil, "", nil, "arguments: --points none", ""},
		"open":       {open, nil, "", []string{"FAIL TestInner", "SKIP TestInner/Network/n/B4"}, "Unknown: not seen", ""},
		"open, well": {open, nil, "UNKNOWN_PASSES=1", []string{"SKIP TestInner/Network/n/B4"}, "Unknown: not seen", ""},
		"outdated": {kept, []contract.ExpectedFailure{{Clause: "A2", Reason: "r", File: "known.yaml", Line: 3}}, "",
			[]string{"FAIL TestInner"}, "known.yaml:3: A2 is listed", ""},
		"an error":                  {nil, nil, "", []string{"FAIL TestInner"}, "try x.yaml", "2"},
		"an error after the report": {kept, nil, "", []string{"FAIL TestInner"}, "exit code 2", "2"},
		"broken by the exit code":   {kept, nil, "", []string{"FAIL TestInner"}, "exit code 1", "1"},
		"a clause of another version": {map[string]contract.Finding{"A2": {Outcome: contract.Conformant},
			"Z1": {Outcome: contract.NonConformant, Reason: "new"}}, nil, "", []string{"FAIL TestInner"},
			"breaks Z1, which is no subtest: new", ""},
		"not judged by an older program": {map[string]contract.Finding{"A2": {Outcome: contract.Conformant},
			"B4": {Outcome: contract.NotJudged}}, nil, "", []string{"FAIL TestInner", "FAIL TestInner/Network/n",
			"FAIL TestInner/Network/n/B4"}, "does not judge B4 yet", ""},
		"no outcome": {map[string]contract.Finding{"A2": {Outcome: contract.Conformant}, "B4": {}}, nil, "",
			[]string{"FAIL TestInner", "FAIL TestInner/Network/n", "FAIL TestInner/Network/n/B4"}, "says nothing about B4", ""},
	} {
		report := contract.Report{Extension: "x", File: "x.yaml", Clauses: slices.Sorted(maps.Keys(c.findings)),
			Kinds:    []contract.KindReport{{Kind: "Network", Type: "n", Findings: c.findings}},
			Outdated: c.outdated}
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInner$", "-test.v")
		command.Env = append(os.Environ(), "STAND_IN="+program, c.env,
			"CODE="+stdcmp.Or(c.code, strconv.Itoa(report.ExitCode())))
		if c.findings != nil {
			content, err := json.Marshal(report)
			file := filepath.Join(t.TempDir(), "report.json")
			if err == nil {
				err = os.WriteFile(file, content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			command.Env = append(command.Env, "REPORT="+file)
		}
		said, err := command.CombinedOutput()
		var got []string
		for _, line := range regexp.MustCompile(`--- (FAIL|SKIP): (\S+)`).FindAllStringSubmatch(string(said), -1) {
			got = append(got, line[1]+" "+line[2])
		}
		if diff := cmp.Diff(c.want, got); diff != "" || !strings.Contains(string(said), c.says) ||
			(err == nil) != !strings.Contains(strings.Join(c.want, " "), "FAIL") {
			t.Errorf("%s: %v, want %q in\n%s\n(-want +got):\n%s", name, err, c.says, said, diff)
		}
	}
}
