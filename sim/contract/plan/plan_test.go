package plan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/contract"
)

func clause(t *testing.T, id string) contract.Clause {
	t.Helper()
	found, known := contract.ClauseByID(id)
	if !known {
		t.Fatalf("there is no clause %s", id)
	}
	return found
}

// record is of an extension of which nothing is known but that it has answered every step of every walk.
func record() *contract.Evidence {
	e := &contract.Evidence{Kind: "Network", Type: "n", Walks: map[string]*contract.Walk{}}
	for name, steps := range contract.WalkSteps {
		w := &contract.Walk{Name: name, Namespace: "shoot--p--" + name}
		for _, step := range steps {
			w.Steps = append(w.Steps, &contract.Step{Name: step, Items: []contract.Item{}})
		}
		e.Walks[name] = w
	}
	return e
}

// A plan has what shows the finding, up to the last step that shows it.
func TestOf_Finding_HasWhatShowsIt(t *testing.T) {
	t.Parallel()
	for id, c := range map[string]struct {
		change func(*contract.Evidence)
		want   []Object
		crash  *Crash
	}{
		"B4": {func(e *contract.Evidence) {
			e.Walks[contract.Clean].Step(contract.Migrate).Items = []contract.Item{{Resource: "secrets", Name: "s"}}
		}, []Object{{"clean", []string{"create", "reconcile", "migrate"}}}, nil},
		"B12": {func(e *contract.Evidence) {
			e.Walks[contract.Never].Step(contract.Migrate).Missing = "no answer"
		}, []Object{{"clean", []string{"create"}}, {"never", []string{"migrate"}}}, nil},
		"D9": {func(e *contract.Evidence) {
			e.Walks[contract.Clean].Step(contract.RestoreAgain).Calls = []contract.Call{{Verb: "post", Kind: "network"}}
		}, []Object{{"clean", contract.WalkSteps["clean"][:10]}}, nil},
		"B17": {func(e *contract.Evidence) {
			e.CrashSteps = contract.CrashSteps
			for n := range 3 {
				final, _ := e.CleanFinal(contract.Delete)
				if n > 0 {
					final.Cloud = "1 network"
				}
				e.Crashes = append(e.Crashes, contract.Crash{Step: contract.Delete, Writes: n, Final: final, Alone: true})
			}
		}, []Object{{"short", []string{"create", "delete"}}}, &Crash{"delete", 1}},
	} {
		e := record()
		c.change(e)
		f := contract.Judge(e, contract.Clauses()).Findings[id]
		if f.Outcome != contract.NonConformant {
			t.Fatalf("%s is %+v", id, f)
		}
		got := Of(e, clause(t, id), f)
		want := Plan{APIVersion: "transplant.dev/v1alpha1", Kind: "ContractPlan", Clause: id, Of: "Network/n",
			Found: f.Reason, Way: f.Way, Objects: c.want, Crash: c.crash}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
		content, err := got.Marshal()
		path := filepath.Join(t.TempDir(), got.FileName())
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if read, err := Read(path, []string{"Network/n"}); err != nil || !cmp.Equal(read, got) {
			t.Errorf("%s is read as %+v: %v", id, read, err)
		}
	}
}

// What differs in values is compared with all objects that show which are chance. No smaller plan is without them.
func TestOf_ValuesOfACrash_KeepsTheSamples(t *testing.T) {
	t.Parallel()
	e := record()
	e.CrashSteps = []string{contract.Create}
	status := func(value string) contract.Snapshot {
		return contract.Snapshot{State: []byte(`{"key":"` + value + `"}`)}
	}
	for _, w := range e.Walks {
		w.Steps[0].After = status("a")
	}
	other := &contract.Step{Name: contract.Create, After: status("b")}
	e.Crashes = []contract.Crash{{Step: contract.Create, Writes: 2, Alone: true,
		Final: contract.FinalOf("shoot--p--crash", nil, []*contract.Step{other})}}
	b17 := clause(t, contract.ByCrashes)
	f := contract.Judge(e, []contract.Clause{b17}).Findings[b17.ID]
	got := Of(e, b17, f)
	var want []Object
	for _, walk := range []string{"clean", "refused", "early", "lost", "back", "failed", "bare", "deleting", "short",
		"touched"} {
		want = append(want, Object{walk, []string{contract.Create}})
	}
	if diff := cmp.Diff(want, got.Objects); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", f, diff)
	}
	for _, smaller := range got.smaller() {
		if len(smaller.Objects) < len(want) {
			t.Errorf("%+v lacks samples", smaller.Objects)
		}
	}
}

func TestRead_Mistake_NamesFieldAndRemedy(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: transplant.dev/v1alpha1\nkind: ContractPlan\nclause: b4\nof: Network/n\n"
	crash := strings.Replace(head, "b4", "B17", 1) + "objects: [{walk: clean, steps: [create]}]\ncrash: "
	for content, want := range map[string]string{
		"kind: ContractPlan\n": "apiVersion: must be transplant.dev/v1alpha1",
		strings.Replace(head, "b4", "Z4", 1) + "objects: [{walk: clean, steps: [create]}]\n":         `no clause "Z4"`,
		strings.Replace(head, "b4", "B2", 1) + "objects: [{walk: clean, steps: [create]}]\n":         `no clause "B2"`,
		strings.Replace(head, "work/n", "work/m", 1) + "objects: [{walk: short, steps: [create]}]\n": `"Network/n"`,
		head: "objects: has no entry",
		head + "objects: [{walk: cleen, steps: [create]}]\n":                                   `did you mean "clean"`,
		head + "objects: [{walk: clean, steps: [create, migrat]}]\n":                           `did you mean "migrate"`,
		head + "objects: [{walk: clean, steps: [migrate, create]}]\n":                          "the order create",
		head + "objects: [{walk: clean, steps: [migrate]}]\n":                                  "must be create",
		head + "objects: [{walk: clean}]\n":                                                    "it has no steps",
		head + "objects: [{walk: clean, steps: [create, delete-source, restore]}]\n":           "steps: delete-source needs",
		head + "objects: [{walk: clean, steps: [create, migrate, delete-source, restore]}]\n":  "needs wait-for-state",
		head + "objects: [{walk: clean, steps: [create, migrate, delete]}]\n":                  "needs restore before",
		head + "objects: [{walk: back, steps: [create, restore]}]\n":                           "or leave restore out",
		head + "objects: [{walk: stuck, steps: [create-stuck, thaw]}]\n":                       "thaw needs restore",
		head + "objects: [{walk: short, steps: [create]}, {walk: short, steps: [create]}]\n":   "there twice",
		head + "objects: [{walk: clean, steps: [create]}]\ncrash: {step: create, writes: 1}\n": "only B17",
		crash + "{step: create, writes: -1}\n":                                                 "0 or more",
		crash + "{step: delete, writes: 1}\n":                                                  "with the walk short",
		crash + "{step: reconcile, writes: 1}\n":                                               "one of create",
		head + "object: []\n":                                                                  `unknown field "object"`,
	} {
		path := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, []string{"Network/n"}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

func TestShrink_Plan_BecomesTheSmallest(t *testing.T) {
	t.Parallel()
	has := func(p Plan, walk string, steps ...string) bool {
		return slices.ContainsFunc(p.Objects, func(o Object) bool {
			return o.Walk == walk && !slices.ContainsFunc(steps, func(s string) bool { return !slices.Contains(o.Steps, s) })
		})
	}
	whole := Plan{APIVersion: contract.APIVersion, Kind: FileKind, Clause: "B4", Of: "Network/n"}
	for _, walk := range []string{"clean", "back", "never"} {
		whole.Objects = append(whole.Objects, Object{walk, contract.WalkSteps[walk]})
	}
	crash := Plan{APIVersion: contract.APIVersion, Kind: FileKind, Clause: contract.ByCrashes, Of: "Network/n",
		Objects: whole.Objects, Crash: &Crash{"migrate", 9}}
	for name, c := range map[string]struct {
		from Plan
		fail func(Plan) bool
		want []Object
		left int // writes before the crash
	}{
		"one step": {whole, func(p Plan) bool { return has(p, "never", "migrate") },
			[]Object{{"never", []string{"migrate"}}}, 0},
		"steps that belong together": {whole, func(p Plan) bool { return has(p, "clean", "restore-again") },
			[]Object{{"clean", []string{"create", "migrate", "delete-source", "wait-for-state", "restore",
				"restore-again"}}}, 0},
		"a deletion of what did not move": {whole, func(p Plan) bool { return has(p, "clean", "delete") },
			[]Object{{"clean", []string{"create", "delete"}}}, 0},
		"two objects": {whole, func(p Plan) bool { return has(p, "clean", "migrate-again") && has(p, "back", "restore") },
			[]Object{{"clean", []string{"create", "migrate", "migrate-again"}},
				{"back", []string{"create", "migrate", "restore"}}}, 0},
		"nothing smaller": {Plan{APIVersion: whole.APIVersion, Kind: whole.Kind, Clause: "B12", Of: "Network/n",
			Objects: []Object{{"never", []string{"migrate"}}}}, func(Plan) bool { return false },
			[]Object{{"never", []string{"migrate"}}}, 0},
		"a crash": {crash, func(p Plan) bool { return p.Crash != nil && p.Crash.Writes >= 3 },
			[]Object{{"clean", []string{"create", "migrate"}}}, 3},
	} {
		seen := map[string]int{}
		got, err := Shrink(c.from, func(next []Plan) (int, error) {
			for i, p := range next {
				content, err := p.Marshal()
				if errs := p.check([]string{"Network/n"}); err != nil || len(errs) > 0 {
					t.Errorf("%s: %+v is tried: %v, %v", name, p, errs, err)
				}
				if seen[string(content)]++; seen[string(content)] > 1 {
					t.Errorf("%s: tried twice: %s", name, content)
				}
				if c.fail(p) {
					return i, nil
				}
			}
			return -1, nil
		})
		if diff := cmp.Diff(c.want, got.Objects); diff != "" || err != nil || got.crash().Writes != c.left {
			t.Errorf("%s: %d writes left, want %d, %v (-want +got):\n%s", name, got.crash().Writes, c.left, err, diff)
		}
	}
}

// What was found before an error is not lost.
func TestShrink_Error_KeepsTheSmallestSoFar(t *testing.T) {
	t.Parallel()
	p := Plan{APIVersion: contract.APIVersion, Kind: FileKind, Clause: "B4", Of: "Network/n",
		Objects: []Object{{"clean", contract.WalkSteps["clean"]}}}
	ends, calls := errors.New("ends"), 0
	got, err := Shrink(p, func(next []Plan) (int, error) {
		if calls++; calls == 1 {
			return len(next) - 1, nil
		}
		return -1, ends
	})
	if steps, _ := got.Size(); !errors.Is(err, ends) || steps != len(contract.WalkSteps["clean"])-1 {
		t.Errorf("%d steps, %v", steps, err)
	}
}

// What was seen once may be chance: the smallest that shows the finding again counts, and else the plan as it was.
func TestConfirmed_Smallest_IsSeenTwice(t *testing.T) {
	t.Parallel()
	whole := Plan{APIVersion: contract.APIVersion, Kind: FileKind, Clause: "B4", Of: "Network/n",
		Objects: []Object{{"clean", contract.WalkSteps["clean"][:5]}}}
	ends := errors.New("ends")
	for name, c := range map[string]struct {
		chance     int // of so few steps the finding is only seen once
		searchEnds int // after so many tries
		again      error
		want       int // steps
		err        error
	}{
		"the smallest":                 {0, 0, nil, 3, nil},
		"the smallest was chance":      {3, 0, nil, 4, nil},
		"all were":                     {4, 0, nil, 5, nil},
		"the search has ended":         {0, 2, nil, 4, ends},
		"nothing was found until then": {0, 1, nil, 5, ends},
		"it cannot be seen again":      {0, 0, ends, 5, ends},
	} {
		tries := 0
		got, err := Confirmed(whole, func(next []Plan) (int, error) { // the last has most steps
			if tries++; tries == c.searchEnds {
				return -1, ends
			}
			return len(next) - 1, nil
		}, func(one []Plan) (int, error) {
			if steps, _ := one[0].Size(); steps <= c.chance {
				return -1, c.again
			}
			return 0, c.again
		})
		if steps, _ := got.Size(); steps != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d steps, want %d; %v, want %v", name, steps, c.want, err, c.err)
		}
	}
}

// A replay shows the plan's finding, and no other of the same clause.
func TestShown_OtherBreakOfTheClause_IsUnknown(t *testing.T) {
	t.Parallel()
	broken := contract.Finding{Outcome: contract.NonConformant, Reason: "delete networks/n1", Way: "delete networks"}
	for name, c := range map[string]struct {
		way   string
		found contract.Finding
		want  contract.Outcome
	}{
		"the same way":    {"delete networks", broken, contract.NonConformant},
		"another way":     {"create networks", broken, contract.Unknown},
		"any way":         {"", broken, contract.NonConformant},
		"no break":        {"create networks", contract.Finding{Outcome: contract.Conformant}, contract.Conformant},
		"another, unseen": {"create networks", contract.Finding{Outcome: contract.Unknown}, contract.Unknown},
	} {
		got := Plan{Way: c.way}.Shown(c.found)
		if got.Outcome != c.want || name == "another way" && !strings.Contains(got.Reason, broken.Reason) {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// A plan that is made smaller must not go on to another failure of the same clause.
func TestSame_OtherBreakOfTheClause_IsNot(t *testing.T) {
	t.Parallel()
	b1 := func(step string, calls ...contract.Call) contract.Finding {
		e := record()
		e.Walks[contract.Clean].Step(step).Calls = calls
		return contract.Judge(e, []contract.Clause{clause(t, "B1")}).Findings["B1"]
	}
	first := b1("migrate", contract.Call{Verb: "delete", Kind: "network", ID: "1"})
	for name, c := range map[string]struct {
		other contract.Finding
		want  bool
	}{
		"another object": {b1("migrate", contract.Call{Verb: "delete", Kind: "network", ID: "2"}), true},
		"once more": {b1("migrate", contract.Call{Verb: "delete", Kind: "network", ID: "2"},
			contract.Call{Verb: "delete", Kind: "network", ID: "3"}), true},
		"another step": {b1("delete-source", contract.Call{Verb: "delete", Kind: "network", ID: "1"}), false},
		"another verb": {b1("migrate", contract.Call{Verb: "create", Kind: "network", ID: "1"}), false},
		"another kind": {b1("migrate", contract.Call{Verb: "delete", Kind: "router", ID: "1"}), false},
		"no break":     {b1("create", contract.Call{Verb: "create", Kind: "network", ID: "1"}), false},
	} {
		if got := Same(first, c.other); got != c.want {
			t.Errorf("%s: %t, want %t: %q and %q", name, got, c.want, first.Way, c.other.Way)
		}
	}
}
