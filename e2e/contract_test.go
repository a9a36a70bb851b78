package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/contracttest"
	"github.com/transplant-sim/transplant/sim/contract/plan"
)

// contractBugs are the types of e2e/contractextension that break the clause of their name, with the clauses that are
// named besides: they say the same of another place, or need what was not reached. A clause may be broken in several
// ways.
var contractBugs = map[string]string{
	"a1": "", "a2": "D3", "a4": "", "a5": "", "a6": "", "a7": "", "a8": "", "a10": "", "a12": "", "a14": "",
	"b1": "E1", "b3": "", "b4": "", "b4seed": "", "b5": "", "b6": "A11 A14 B7", "b7": "", "b8": "", "b9": "",
	"b10": "B12 B13", "b12": "", "b13": "B12",
	"c2": "", "c3": "", "c5": "A2", "d1": "E1", "d2": "D1 E1", "d3": "", "d9": "A14", "d10": "E1",
	"d13": "A5 A7", "e1": "", "e3": "A10 B1", "g3": "A2 A12", "g4": "",
}

// unknownBugs are those whose own clause is Unknown: the record does not show that nothing else is missing, such as a
// read of the cloud that the migrate needs, or what the restore waits for.
var unknownBugs = map[string]string{"b11reads": "B11", "g3": "G3"}

// disturbedBugs are those of clauses that are tried on objects with something in their way.
var disturbedBugs = map[string]string{
	"a3": "", "a9": "", "a11": "B1 E3", "a13": "", "b11": "", "b11reads": "", "c1": "C2", "d4": "", "e2": "", "f1": "",
}

// crashBug is the one that shows only if the extension is killed.
const crashBug = "b17"

// clauseOf a planted bug is the clause of its name.
func clauseOf(bug string) string {
	return strings.ToUpper(strings.TrimRight(bug, "abcdefghijklmnopqrstuvwxyz"))
}

// contractFile is one extension with these types, which is built beside it.
func contractFile(t *testing.T, types []string) string {
	t.Helper()
	built(t)
	folder := t.TempDir()
	if err := buildStatic(t, "./contractextension", filepath.Join(folder, "program")); err != nil {
		t.Fatal(err)
	}
	text := `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: contract}
spec:
  binary: program
  rules:
  - {apiGroups: [""], resources: [namespaces], verbs: [get]}
  - {apiGroups: [""], resources: [secrets], verbs: [create, delete]}
  - {apiGroups: [resources.gardener.cloud], resources: [managedresources], verbs: [create, patch, delete]}
  resources:
`
	for _, one := range types {
		more := ""
		if one == "breaks-b10" {
			more = ", lifecycle: {migrate: AfterKubeAPIServer}"
		}
		text += fmt.Sprintf("  - {kind: Extension, type: %s, reconcileTimeout: 10s%s}\n", one, more)
	}
	file := filepath.Join(folder, "contract.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tryContract runs the kit and returns its report and its exit code. Its results are in a folder that goes with the
// test.
func tryContract(t *testing.T, file string, flags ...string) (report contract.Report, code int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	command := exec.CommandContext(t.Context(), program, append([]string{"contract", file, "--out", out,
		"--timeout-multiplier", strconv.Itoa(multiplier)}, flags...)...)
	command.Env = inHome(t.TempDir())
	said, _ := command.CombinedOutput()
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err == nil {
		err = json.Unmarshal(content, &report)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
	return report, command.ProcessState.ExitCode()
}

// planOf the finding of a clause for a kind.
func planOf(t *testing.T, kind contract.KindReport, id string) (path string, p plan.Plan) {
	t.Helper()
	path = kind.Findings[id].Plan
	p, err := plan.Read(path, []string{kind.Name()})
	if err != nil {
		t.Fatal(err)
	}
	return path, p
}

// undisturbed are the clauses that are judged but for those of disturbedBugs.
func undisturbed() string {
	var ids []string
	for _, c := range contract.Clauses() {
		if _, disturbed := disturbedBugs[strings.ToLower(c.ID)]; c.IsJudged() && (!disturbed || c.ID == "A11") {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, ",")
}

// broken are the clauses that a kind breaks.
func broken(kind contract.KindReport) (all []string) {
	for _, c := range contract.Clauses() {
		if kind.Findings[c.ID].Outcome == contract.NonConformant {
			all = append(all, c.ID)
		}
	}
	return all
}

// Each planted bug is named by its clause, and by no other without cause. What has no bug is named by none.
func TestContract_PlantedBug_IsNamedByItsClause(t *testing.T) {
	t.Parallel()
	bugs := maps.Clone(contractBugs)
	flags := []string{"--points", "none", "--clause", undisturbed()}
	if all() {
		maps.Copy(bugs, disturbedBugs)
		flags = flags[:2]
	}
	types := []string{"keeps"}
	for bug := range bugs {
		types = append(types, "breaks-"+bug)
	}
	slices.Sort(types)
	report, code := tryContract(t, contractFile(t, types), flags...)
	if code != 1 || len(report.Kinds) != len(types) {
		t.Errorf("exit code %d, want 1, for %d kinds", code, len(report.Kinds))
	}
	for _, kind := range report.Kinds {
		bug := strings.TrimPrefix(kind.Type, "breaks-")
		want := strings.Fields(bugs[bug])
		if id := unknownBugs[bug]; id == "" && bug != "keeps" {
			want = append(want, clauseOf(bug))
		} else if f := kind.Findings[id]; id != "" && f.Outcome != contract.Unknown {
			t.Errorf("%s: %s is %+v, want Unknown", kind.Type, id, f)
		}
		checkBroken(t, kind, want...)
	}
}

// checkBroken fails the test if a kind does not break these clauses and no others.
func checkBroken(t *testing.T, kind contract.KindReport, want ...string) {
	t.Helper()
	got := broken(kind)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s breaks %q, want %q: %+v", kind.Name(), got, want, kind.Findings)
	}
}

// Each clause that is judged has a planted bug, which breaks it or, by the nature of the clause, makes it Unknown. Each
// other clause says why it is not judged.
func TestContract_EachClause_HasAPlantedBugOrAReason(t *testing.T) {
	t.Parallel()
	planted := map[string]bool{clauseOf(crashBug): true}
	for _, bugs := range []map[string]string{contractBugs, disturbedBugs} {
		for bug := range bugs {
			planted[clauseOf(bug)] = true
		}
	}
	for _, row := range plantedBugs(t) {
		if row.Scenario == ofContract {
			planted[row.Promise] = true
		}
	}
	for _, c := range contract.Clauses() {
		switch reason, says := strings.CutPrefix(c.How, "Not judged: "); {
		case c.IsJudged() != planted[c.ID]:
			t.Errorf("%s is judged: %t, and has a planted bug: %t", c.ID, c.IsJudged(), planted[c.ID])
		case !c.IsJudged() && (!says || reason == ""):
			t.Errorf("%s is not judged, and does not say why: %q", c.ID, c.How)
		}
		delete(planted, c.ID)
	}
	if len(planted) > 0 {
		t.Errorf("planted bugs of no clause: %v", planted)
	}
}

// A planted bug of an example is named by its clause, of its kind, and by no other.
func TestContract_ExamplesPlantedBug_IsNamedByItsClause(t *testing.T) {
	t.Parallel()
	for _, row := range plantedBugs(t) {
		if row.Scenario != ofContract {
			continue
		}
		t.Run(row.Bug, func(t *testing.T) {
			t.Parallel()
			files := builtExamples(t)
			replace(t, files[row.Class], `name: PLANTED_BUG, value: ""`, `name: PLANTED_BUG, value: `+row.Bug)
			flags := []string{"--points", "none", "--kind", row.At, "--clause", undisturbed()}
			if all() {
				flags = flags[:4]
			}
			report, code := tryContract(t, files[row.Class], flags...)
			if code != 1 || len(report.Kinds) != 1 {
				t.Fatalf("exit code %d, want 1, for %d kinds", code, len(report.Kinds))
			}
			checkBroken(t, report.Kinds[0], row.Promise)
		})
	}
}

// What depends on where the extension dies is named by the clause of crashes. An extension that takes up what it has
// begun is not.
func TestContract_Crash_IsNamedByItsClause(t *testing.T) {
	t.Parallel()
	file, flags := contractFile(t, []string{"keeps", "breaks-" + crashBug}), []string{"--clause", contract.ByCrashes}
	if all() {
		flags = nil
	}
	report, code := tryContract(t, file, flags...)
	if code != 1 || len(report.Kinds) != 2 {
		t.Fatalf("exit code %d, want 1: %+v", code, report)
	}
	for _, kind := range report.Kinds {
		got, want := kind.Findings[contract.ByCrashes], contract.Conformant
		if kind.Type == "breaks-"+crashBug {
			want = contract.NonConformant
			checkBroken(t, kind, contract.ByCrashes)
		} else {
			checkBroken(t, kind)
		}
		if got.Outcome != want {
			t.Errorf("%s is %+v, want %s", kind.Type, got, want)
		}
		if want == contract.NonConformant {
			path, p := planOf(t, kind, contract.ByCrashes)
			if p.Crash == nil {
				t.Errorf("the plan has no crash: %+v", p)
			}
			again, code := tryContract(t, file, "--plan", path)
			if f := again.Kinds[0].Findings[contract.ByCrashes]; code != 1 || !plan.Same(f, got) {
				t.Errorf("its plan ends with exit code %d and %+v, want 1 and %+v", code, f, got)
			}
		}
	}
}

// A finding is shown again by its plan and by a smaller one. A break in another way is not the plan's finding.
func TestContract_Plan_ShowsTheFindingAgain(t *testing.T) {
	t.Parallel()
	file := contractFile(t, []string{"breaks-b4"})
	report, code := tryContract(t, file, "--points", "none", "--clause", "B4")
	if code != 1 || len(report.Kinds) != 1 {
		t.Fatalf("exit code %d, want 1: %+v", code, report)
	}
	found := report.Kinds[0].Findings["B4"]
	path, whole := planOf(t, report.Kinds[0], "B4")
	smaller, code := tryContract(t, file, "--plan", path, "--shrink", fmt.Sprintf("%dm", multiplier))
	if f := smaller.Kinds[0].Findings["B4"]; code != 1 || !plan.Same(f, found) {
		t.Fatalf("its plan ends with exit code %d and %+v, want 1 and %+v", code, f, found)
	}
	_, smallest := planOf(t, smaller.Kinds[0], "B4")
	want := []plan.Object{{Walk: contract.Clean, Steps: []string{contract.Create, contract.Migrate}}}
	if diff := cmp.Diff(want, smallest.Objects); diff != "" || len(whole.Objects[0].Steps) != 3 {
		t.Errorf("the plan has %+v, and the smallest (-want +got):\n%s", whole.Objects, diff)
	}
	whole.Way = "something else is left"
	content, err := whole.Marshal()
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err == nil {
		err = os.WriteFile(other, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	report, code = tryContract(t, file, "--plan", other)
	if f := report.Kinds[0].Findings["B4"]; code != 3 || f.Outcome != contract.Unknown {
		t.Errorf("the plan of another way ends with exit code %d and %+v, want 3 and Unknown", code, f)
	}
}

// An example of an extension keeps the contract, and so does one of kinds that need others. In "make
// example-extensions" each does, with a crash at each of its writes.
func TestContract_ExampleExtension_Conforms(t *testing.T) {
	t.Parallel()
	files := builtExamples(t)
	classes, points := []string{"network", "provider"}, "none"
	if all() {
		classes, points = append(classes, "operating-system", "container-runtime"), "all"
	}
	for _, class := range classes {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			report := contracttest.Run(t, contracttest.Options{File: files[class], Program: program,
				Flags: []string{"--points", points, "--timeout-multiplier", strconv.Itoa(multiplier)},
				Env:   []string{"TRANSPLANT_HOME=" + t.TempDir()}})
			if outcome := report.Outcome(); outcome != contract.Conformant {
				t.Errorf("it is %s", outcome)
			}
		})
	}
}

// What cannot be tried is an error, with exit code 2, a line that says what is wrong, and the remedy. No landscape is
// left. A wrong file is refused before anything starts, and leaves no results.
func TestContract_BadInput_IsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does, says, remedy string // in the file, at the beginning of the error, and at the end
		starts, long       bool
	}{
		"a missing binary": {"binary: nowhere", "binary: ", "nowhere", false, false},
		"a wrong field":    {"binry: vault", "binry", "binary", false, false},
		"it ends": {"binary: vault, args: [ends]", "the extension vault never came up on seed kit-",
			"This is a finding about the extension vault", true, false},
		"it may not list": {"binary: vault, args: [lists]", "the extension vault never answered on seed kit-source: after ",
			`spec.rules: it may not list secrets: add {apiGroups: [""], resources: [secrets], verbs: [list]}`, true, false},
		"it never leads": {"binary: vault, args: [sleeps]", "the extension vault never answered on seed kit-source: after ",
			"| waiting for a leader that never comes", true, true},
	} {
		if c.long && !all() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, home, out := brokenExtension(t, c.does), t.TempDir(), filepath.Join(t.TempDir(), "out")
			command := exec.CommandContext(t.Context(), program, "contract", file, "--out", out)
			command.Env = inHome(home)
			said, _ := command.CombinedOutput() // its code is looked at
			text := string(said)
			line := ""
			for one := range strings.Lines(text) {
				if strings.HasPrefix(one, "Error: ") {
					line += one
				}
			}
			if command.ProcessState.ExitCode() != 2 || !strings.Contains(line, c.says) || strings.Count(line, "\n") != 1 ||
				!strings.Contains(text, c.remedy) {
				t.Errorf("exit code %d, want 2, one line with %q, and %q:\n%s", command.ProcessState.ExitCode(), c.says, c.remedy,
					text)
			}
			if left, err := filepath.Glob(filepath.Join(home, "contract*", "clusters")); err != nil || len(left) > 0 {
				t.Errorf("a landscape is left: %q %v", left, err)
			}
			if left, err := filepath.Glob(filepath.Join(out, "*.*")); err != nil || len(left) > 0 && !c.starts {
				t.Errorf("results are left: %q %v", left, err)
			}
		})
	}
}

// requirePython is the environment variable under which a machine without Python fails the test that needs it. CI sets
// it; elsewhere the test is skipped.
const requirePython = "TRANSPLANT_REQUIRE_PYTHON"

// plainTable are the clauses that the plain extension is seen to keep. It has nothing in the cloud, and keeps no result
// in its status: others do not apply, and none is Unknown.
const plainTable = "A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 B3 B4 B5 B6 B7 B8 B9 B12 B13 C2 C3 D9 D13 G3 G4"

// An extension needs no library of ours, nor Go: one in Python, which polls, keeps the contract. In "make
// example-extensions" it does with a crash at each of its writes.
func TestContract_PlainExtension_Conforms(t *testing.T) {
	t.Parallel()
	built(t)
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv(requirePython) != "" {
			t.Fatalf("there is no python3, and %s wants one", requirePython)
		}
		t.Skip("there is no python3: install it to have an extension in Python tried")
	}
	points, want := "none", strings.Fields(plainTable)
	if all() {
		points, want = "all", append(want, contract.ByCrashes)
	}
	report := contracttest.Run(t, contracttest.Options{File: "plainextension/audit.yaml", Program: program,
		Flags: []string{"--points", points, "--timeout-multiplier", strconv.Itoa(multiplier)},
		Env:   []string{"TRANSPLANT_HOME=" + t.TempDir()}})
	var kept []string
	for id, f := range report.Kinds[0].Findings {
		switch f.Outcome {
		case contract.Conformant:
			kept = append(kept, id)
		case contract.NonConformant, contract.Unknown:
			t.Errorf("%s is %+v", id, f)
		}
	}
	slices.Sort(kept)
	slices.Sort(want)
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the clauses that it keeps (-want +got):\n%s", diff)
	}
}
