package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
	"github.com/transplant-sim/transplant/sim/verdict"
)

const root = "../.."

func listed(t *testing.T) []mutant {
	t.Helper()
	mutants, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return mutants
}

// Every mutant's lines must be in the tree as it is, else the list has gone stale.
func TestMutants_OldText_IsInTheTreeOnce(t *testing.T) {
	t.Parallel()
	mutants := listed(t)
	ofHarness := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.Want == "" && m.With == "" })
	if product := len(mutants) - len(ofHarness); product < 25 || len(ofHarness) < 22 {
		t.Errorf("there are %d bugs of the product and %d of the harness, want at least 25 and 22", product, len(ofHarness))
	}
	named := map[string]bool{}
	for _, m := range mutants {
		if named[m.Name] || m.Why == "" {
			t.Errorf("%s: the name must be its own, and the reason given", m.Name)
		}
		named[m.Name] = true
		changed, err := m.changed(root)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		for _, e := range m.edits() {
			planted := false
			for file, content := range changed {
				planted = planted || filepath.Dir(file) == e.In && strings.Contains(string(content), e.New)
			}
			if !planted {
				t.Errorf("%s: the bug was not planted in %s", m.Name, e.In)
			}
		}
	}
}

// A bug of the harness can make a verdict Inconclusive or Error, and says what the reasons contain; or it is planted
// beside one of the product. It is never the bug of a judge, which no run can notice.
func TestHarnessMutant_Expectation_IsComplete(t *testing.T) {
	t.Parallel()
	judges := []string{"sim/oracle", "sim/measure", "sim/verdict"}
	mutants := listed(t)
	files, err := scenariosOf(root, mutants)
	if err != nil {
		t.Error(err)
	}
	for _, m := range mutants {
		if m.Want == "" && m.With == "" {
			continue
		}
		switch {
		case m.Want != "" && m.With != "":
			t.Errorf("%s: has both want and with", m.Name)
		case m.Want != "" && m.Want != verdict.Inconclusive && m.Want != verdict.Error:
			t.Errorf("%s: wants %s, a verdict on the product", m.Name, m.Want)
		case m.Want != "" && m.Says == "":
			t.Errorf("%s: any reason would do; say which", m.Name)
		}
		for _, e := range m.edits() {
			of := func(judge string) bool { return e.In == judge || strings.HasPrefix(e.In, judge+"/") }
			if slices.ContainsFunc(judges, of) {
				t.Errorf("%s: is a bug of a judge: %s", m.Name, e.In)
			}
		}
		if _, err := scenario.ParseFile(files[m.Scenario]); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// The oracle must be one that the scenario asks for, else nothing could catch the mutant.
func TestMutants_Oracle_IsOneOfTheScenario(t *testing.T) {
	t.Parallel()
	mutants := listed(t)
	files, err := scenariosOf(root, mutants)
	if err != nil {
		t.Error(err)
	}
	for _, m := range mutants {
		if m.Want != "" {
			continue
		}
		s, err := scenario.ParseFile(files[m.Scenario])
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		measures := m.Oracle == verdict.Goal && s.Spec.Measure != scenario.Measure{}
		if m.Says == "" && (m.Oracle == verdict.Expect || m.Oracle == verdict.Goal || m.Oracle == verdict.Settle) {
			t.Errorf("%s: an expectation that ran out, any goal missed, or anything that moves, proves nothing unless it is "+
				"said what was seen", m.Name)
		}
		if m.Oracle == requests {
			if _, err := os.Stat(m.profile(root)); err != nil || m.Says == "" {
				t.Errorf("%s: which requests double must be said, and its scenario must have a profile: %v", m.Name, err)
			}
			continue
		}
		if m.Oracle == verdict.Expect || m.Oracle == verdict.Settle { // of every scenario
			continue
		}
		if !measures && !slices.Contains(s.Spec.Always, scenario.Oracle(m.Oracle)) {
			t.Errorf("%s: %s does not promise %s", m.Name, m.Scenario, m.Oracle)
		}
	}
}

// The extensions of a mutant are accepted together.
func TestMutants_Extensions_AreAccepted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := os.WriteFile(filepath.Join(folder, "extensions"), []byte("#!"), 0o700) //nolint:gosec // a program
	if err := errors.Join(program, copyExtensions(root, folder)); err != nil {
		t.Fatal(err)
	}
	for _, m := range listed(t) {
		flag := thirdparty.Flag{}
		for _, name := range m.Extensions {
			flag.Files = append(flag.Files, filepath.Join(folder, name+".yaml"))
		}
		if parsed, err := flag.Parse(); err != nil || len(parsed) != len(m.Extensions) {
			t.Errorf("%s: %d of the extensions %q: %v", m.Name, len(parsed), m.Extensions, err)
		}
	}
}

// What no bug was ever seen to break promises nothing. An expectation is a step's own: whoever writes it has seen it
// fail.
func TestEveryOracleHasAMutant(t *testing.T) {
	t.Parallel()
	mutants := listed(t)
	for _, name := range append(oracle.Names(), verdict.Goal, verdict.Settle, requests) {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.Oracle == name && m.With == "" }) {
			t.Errorf("no planted bug names %s as its oracle: add one that it must catch to mutants.yaml", name)
		}
	}
}

func TestPlant_OldText_IsInOnePlace(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"pack/a.go":      "package pack\n\nvar one, two = 1, 2\n",
		"pack/b.go":      "package pack\n\nvar three = 3\nvar four = 1\n",
		"pack/a_test.go": "package pack\n\nvar test = 5\n",
		"pack/a.txt":     "var text = 6\n",
		"pack/in/c.go":   "package in\n\nvar inner = 7\n",
	}
	folder := t.TempDir()
	for path, content := range files {
		path = filepath.Join(folder, path)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		edit  edit
		file  string // that is changed
		want  string // what is in it then
		wrong string // all of the error
	}{
		"once": {
			edit: edit{In: "pack", Old: "three = 3", New: "three = 4"},
			file: "pack/b.go", want: "package pack\n\nvar three = 4\nvar four = 1\n",
		},
		"over lines": {
			edit: edit{In: "pack", Old: "3\nvar four", New: "4\nvar four"},
			file: "pack/b.go", want: "package pack\n\nvar three = 4\nvar four = 1\n",
		},
		"nowhere":    {edit: edit{In: "pack", Old: "nine"}, wrong: `pack has no "nine"`},
		"in a test":  {edit: edit{In: "pack", Old: "= 5"}, wrong: `pack has no "= 5"`},
		"no Go file": {edit: edit{In: "pack", Old: "= 6"}, wrong: `pack has no "= 6"`},
		"deeper":     {edit: edit{In: "pack", Old: "= 7"}, wrong: `pack has no "= 7"`},
		"nothing":    {edit: edit{In: "pack"}, wrong: "an edit of pack has no old text"},
		"no such file": {
			edit:  edit{In: "pack", Old: "= 1", File: "c.go"},
			wrong: "pack/c.go has no Go file but tests, or none of the name that is given",
		},
		"in another file": {edit: edit{In: "pack", Old: "= 1, 2", File: "b.go"}, wrong: `pack/b.go has no "= 1, 2"`},
		"in two files": {
			edit:  edit{In: "pack", Old: "= 1"},
			wrong: `pack has "= 1" 2 times, at pack/a.go:3, pack/b.go:4: give a longer old text, or the file beside in`,
		},
		"in two files, one given": {
			edit: edit{In: "pack", Old: "= 1", New: "= 8", File: "b.go"},
			file: "pack/b.go", want: "package pack\n\nvar three = 3\nvar four = 8\n",
		},
		"twice in one": {
			edit:  edit{In: "pack", Old: "var", File: "b.go"},
			wrong: `pack/b.go has "var" 2 times, at pack/b.go:3, pack/b.go:4: give a longer old text, or the file beside in`,
		},
	} {
		changed, err := mutant{edit: c.edit}.changed(folder)
		if c.wrong != "" {
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s: got %v, want %s", name, err, c.wrong)
			}
			continue
		}
		if err != nil || len(changed) != 1 || string(changed[c.file]) != c.want {
			t.Errorf("%s: got %q, %v; want in %s %q", name, changed, err, c.file, c.want)
		}
	}
	// A later edit is made to what an earlier one has left.
	both, err := mutant{
		edit: edit{In: "pack", Old: "three = 3", New: "three = 33"},
		Also: []edit{{In: "pack", Old: "= 33", New: "= 34"}},
	}.changed(folder)
	if want := "package pack\n\nvar three = 34\nvar four = 1\n"; err != nil || string(both["pack/b.go"]) != want {
		t.Errorf("two edits: got %q, %v", both, err)
	}
}

func TestScenariosOf_UnknownName_IsAnError(t *testing.T) {
	t.Parallel()
	_, err := scenariosOf(root, []mutant{{Name: "bug", Scenario: "seed-los"}, {Name: "other", Scenario: "slow-user"}})
	if err == nil || !strings.HasPrefix(err.Error(), `mutant "bug": there is no scenario "seed-los" in `) ||
		!strings.Contains(err.Error(), `did you mean "seed-loss"?`) {
		t.Errorf("got %v", err)
	}
}

// The verdict of another oracle, or of an expect that ran out, is not enough.
func TestOnlyTheNamedOracleCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict string
		want    bool
		says    string
	}{
		"caught":       {`{"verdict":"Failed","violations":[{"oracle":"expect"},{"oracle":"NoOrphans"}]}`, true, ""},
		"only expect":  {`{"verdict":"Failed","violations":[{"oracle":"expect"}]}`, false, ""},
		"another":      {`{"verdict":"Failed","violations":[{"oracle":"NoLostWrite"}]}`, false, ""},
		"passed":       {`{"verdict":"Passed","violations":[]}`, false, ""},
		"inconclusive": {`{"verdict":"Inconclusive"}`, false, ""},
		"said": {`{"verdict":"Failed","violations":[{"oracle":"NoOrphans","message":"bytes is 2; epoch is 1"}]}`,
			true, "bytes is 2"},
		"said last": {`{"verdict":"Failed","violations":[{"oracle":"NoOrphans","message":"bytes is 2"}]}`, true,
			"bytes is 2"},
		"another value": {
			`{"verdict":"Failed","violations":[{"oracle":"NoOrphans","message":"bytes is 205123; epoch is 1"}]}`, false,
			"bytes is 2",
		},
	} {
		file := filepath.Join(t.TempDir(), "verdict.json")
		if err := os.WriteFile(file, []byte(c.verdict), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := mutant{Oracle: "NoOrphans", Says: c.says}.judge(file, nil)
		if err != nil || got.caught != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// A bug of the harness is caught by the verdict that it wants, for the reason that it names, and never by Passed.
func TestHarnessMutant_Verdict_DecidesWhetherItIsCaught(t *testing.T) {
	t.Parallel()
	wants, with := mutant{Want: verdict.Inconclusive, Says: "the epochs"}, mutant{With: "other", Oracle: "NoOrphans"}
	for name, c := range map[string]struct {
		mutant  mutant
		verdict string // none when empty
		caught  bool
	}{
		"as wanted": {wants, `{"verdict":"Inconclusive","reasons":["a","nobody has seen the epochs"]}`,
			true},
		"for another reason":             {wants, `{"verdict":"Inconclusive","reasons":["a"]}`, false},
		"another verdict":                {wants, `{"verdict":"Error","reasons":["the epochs"]}`, false},
		"passed":                         {wants, `{"verdict":"Passed"}`, false},
		"no verdict":                     {wants, ``, false},
		"no verdict, Error is wanted":    {mutant{Want: verdict.Error, Says: "no run"}, ``, true},
		"with a product bug that shows":  {with, `{"verdict":"Failed","violations":[{"oracle":"NoOrphans"}]}`, true},
		"with one that another finds":    {with, `{"verdict":"Failed","violations":[{"oracle":"expect"}]}`, false},
		"with one, and Inconclusive":     {with, `{"verdict":"Inconclusive","reasons":["a"]}`, true},
		"with one, and the run passes":   {with, `{"verdict":"Passed"}`, false},
		"with one, and it is not judged": {with, `{"verdict":"Error","reasons":["a"]}`, true},
	} {
		file := filepath.Join(t.TempDir(), "verdict.json")
		if c.verdict != "" {
			if err := os.WriteFile(file, []byte(c.verdict), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := c.mutant.judge(file, []byte("Error:\nthe timeline holds no run\n"))
		if err != nil || got.caught != c.caught {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
