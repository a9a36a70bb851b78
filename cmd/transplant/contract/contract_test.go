package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/landscape"
)

func TestSelected_Flags_NameClausesAndGroups(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"b4,B17": "B4 B17", "G": "G1 G2 G3 G4", "e1": "E1",
		"G3,G,g4": "G3 G1 G2 G4"} {
		found, err := (&options{clauses: strings.Split(flag, ",")}).selected()
		var got []string
		for _, c := range found {
			got = append(got, c.ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("--clause %s selects %q, %v; want %q", flag, got, err, want)
		}
	}
	if _, err := (&options{clauses: []string{"Z1"}}).selected(); err == nil || !strings.Contains(err.Error(), `"Z1"`) {
		t.Errorf("--clause Z1: %v", err)
	}
	if all, err := (&options{}).selected(); err != nil || len(all) != len(contract.Clauses()) {
		t.Errorf("without the flag %d clauses: %v", len(all), err)
	}
}

// A backend is one of those that there are.
func TestCheck_Backend_IsEmbeddedOrKind(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]string{"embedded": "<nil>", "kind": "<nil>",
		"k3d": `--backend: must be embedded or kind, and not "k3d"`} {
		_, err := (&options{points: "all", multiplier: 1, backend: backend}).check()
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: the error is %s, want %s", backend, got, want)
		}
	}
}

func TestSubjectsOf_KindsWithoutObjects_SayWhy(t *testing.T) {
	t.Parallel()
	e := landscape.Extension{Name: "x", Resources: []landscape.ExtensionResource{
		{Kind: "Network", Type: "n"}, {Kind: "Bastion", Type: "b"}, {Kind: "Extension", Type: "e", Primary: ptr.To(false)},
	}}
	subjects, without := subjectsOf(e, nil)
	if len(subjects) != 1 || subjects[0].kind.Name != "Network" || len(without) != 2 || without[0].Reason == "" ||
		without[1].Reason == "" {
		t.Errorf("%+v, and without %+v", subjects, without)
	}
	if only, others := subjectsOf(e, []string{"bastion"}); len(only) != 0 || len(others) != 1 {
		t.Errorf("of kind bastion %+v, and without %+v", only, others)
	}
}

// Each kind that the kit has objects of gives one that has its type, its request and the names of its namespace.
func TestObject_EachKind_HasTypeAndRequest(t *testing.T) {
	t.Parallel()
	for kind := range specs {
		prepared := environment.New(environment.ScenarioSettings)
		prepared.Extensions = []landscape.Extension{{Name: "x", Resources: []landscape.ExtensionResource{
			{Kind: kind, Type: "t"}}}}
		subjects, _ := subjectsOf(prepared.Extensions[0], nil)
		u := (&kit{environment: prepared}).newUniverse(subjects[0], contract.Clean)
		object, err := u.object("reconcile")
		if err != nil {
			t.Fatal(err)
		}
		ofType, _, _ := unstructured.NestedString(object.Object, "spec", "type")
		if ofType != "t" || contract.Look(object.Object).Operation != "reconcile" ||
			u.kind.Namespaced && object.GetNamespace() != u.namespace || len(u.namespace) > 63 {
			t.Errorf("%s: %v", kind, object.Object)
		}
		if kind == "OperatingSystemConfig" {
			checkJoins(t, u, object)
		}
		u.foreign = true
		if object, err = u.object("reconcile"); err != nil {
			t.Fatal(err)
		}
		if ofType, _, _ = unstructured.NestedString(object.Object, "spec", "type"); ofType == "t" {
			t.Errorf("%s of another type is of the same", kind)
		}
	}
}

// checkJoins fails the test if no file says how a machine joins the shoot.
func checkJoins(t *testing.T, u *universe, object *unstructured.Unstructured) {
	t.Helper()
	files, _, _ := unstructured.NestedSlice(object.Object, "spec", "files")
	for _, file := range files {
		content, _, _ := unstructured.NestedString(file.(map[string]any), "content", "inline", "data")
		if file.(map[string]any)["path"] == "/etc/transplant/node.json" {
			if data, err := cloud.ParseNodeUserData(content); err != nil || data.Shoot != u.namespace {
				t.Errorf("%+v, %v", data, err)
			}
			return
		}
	}
	t.Error("no file says how a machine joins the shoot")
}

func versionOf(number, operation string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetNamespace("n")
	object.SetName("o")
	object.SetResourceVersion(number)
	object.SetAnnotations(map[string]string{"gardener.cloud/operation": operation})
	return object
}

// An answer counts from the version of the request on, and a version that was not watched does not hide a deletion.
func TestObserver_Await_CountsFromTheRequest(t *testing.T) {
	t.Parallel()
	o, key := newObserver(), client.ObjectKey{Namespace: "n", Name: "o"}
	take := func(event watch.EventType, object *unstructured.Unstructured) {
		t.Helper()
		if err := o.take(t.Context(), event, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	take(watch.Added, versionOf("7", ""))
	if _, err := o.await(t.Context(), key, 8, time.Millisecond, taken); err == nil ||
		err.Error() != "it has not reacted" {
		t.Errorf("an earlier version is an answer: %v", err)
	}
	take(watch.Modified, versionOf("8", "migrate"))
	if _, err := o.await(t.Context(), key, 8, time.Millisecond, taken); err == nil ||
		!strings.Contains(err.Error(), "is still there") {
		t.Errorf("the request is an answer: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := o.await(context.WithoutCancel(t.Context()), key, 8, time.Minute, taken)
		done <- err
	}()
	take(watch.Modified, versionOf("9", ""))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := o.miss(map[client.ObjectKey]bool{}, "10"); err != nil {
		t.Fatal(err)
	}
	if latest, err := o.await(t.Context(), key, 9, time.Minute, gone); err != nil || latest.number != 10 {
		t.Errorf("what is not listed is not gone: %+v %v", latest, err)
	}
	if err := o.take(t.Context(), watch.Modified, versionOf("x", ""), nil); err == nil {
		t.Error("a version that is no number is accepted")
	}
}

func TestManagedIn_OnlyTheEmptyClass(t *testing.T) {
	t.Parallel()
	o := newObserver()
	for name, spec := range map[string]map[string]any{"a": {"keepObjects": true}, "b": {"class": "seed"}, "c": {}} {
		object := versionOf("1", "")
		object.SetName(name)
		object.Object["spec"] = spec
		event := watch.Added
		if name == "a" {
			event = watch.Deleted
		}
		if err := o.take(t.Context(), event, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []contract.Managed{{Name: "a", KeepObjects: true, Deleted: true}, {Name: "c"}}
	if diff := cmp.Diff(want, managedIn(o, "n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The exit code says whether there is something to do. What was known is not; an entry that is outdated is.
func TestFinish_ExitCode(t *testing.T) {
	t.Parallel()
	kept, broken := contract.Finding{Outcome: contract.Conformant}, contract.Finding{Outcome: contract.NonConformant}
	open, listed := contract.Finding{Outcome: contract.Unknown}, []contract.ExpectedFailure{{Clause: "B4", Reason: "r"}}
	for name, c := range map[string]struct {
		findings map[string]contract.Finding
		expected []contract.ExpectedFailure
		want     int
	}{
		"all kept":                 {map[string]contract.Finding{"B4": kept}, nil, 0},
		"broken":                   {map[string]contract.Finding{"B4": broken, "A1": open}, nil, 1},
		"known":                    {map[string]contract.Finding{"B4": broken, "A1": kept}, listed, 0},
		"known, and one more":      {map[string]contract.Finding{"B4": broken, "A1": broken}, listed, 1},
		"known, and one unknown":   {map[string]contract.Finding{"B4": broken, "A1": open}, listed, 3},
		"outdated":                 {map[string]contract.Finding{"B4": kept}, listed, 1},
		"outdated, one unknown":    {map[string]contract.Finding{"B4": kept, "A1": open}, listed, 1},
		"listed, and not judged":   {map[string]contract.Finding{"A1": kept}, listed, 0},
		"listed, and not seen yet": {map[string]contract.Finding{"A1": kept, "B4": open}, listed, 3},
	} {
		report := contract.Report{Extension: "x", Reconciles: []string{"Network/n"},
			Kinds: []contract.KindReport{{Kind: "Network", Type: "n", Findings: c.findings}}}
		report.Expect(c.expected)
		err := (&options{out: t.TempDir()}).finish(io.Discard, report, contract.Clauses(), nil)
		got, coder := 0, (*exitError)(nil)
		if errors.As(err, &coder) {
			got = coder.ExitCode()
		}
		if got != c.want || err != nil && coder == nil {
			t.Errorf("%s: exit code %d, want %d: %v", name, got, c.want, err)
		}
	}
}

// What was found is not lost if the run fails afterwards. The error is that of the run, and its exit code 2.
func TestFinish_FailedAfterwards_HasResultsAndTheError(t *testing.T) {
	t.Parallel()
	o, failed := &options{out: t.TempDir()}, errors.New("the seeds do not stop")
	report := contract.Report{Extension: "x", Reconciles: []string{"Network/n"}, Kinds: []contract.KindReport{
		{Kind: "Network", Type: "n", Findings: map[string]contract.Finding{"B4": {Outcome: contract.NonConformant}}}}}
	err := o.finish(io.Discard, report, contract.Clauses(), failed)
	if coder := (*exitError)(nil); !errors.Is(err, failed) || errors.As(err, &coder) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.out, contract.ReportName)); err != nil {
		t.Error(err)
	}
}

// After an error in the crashes only what these show is Unknown. What the walks have shown stays.
func TestVerdicts_CrashesFail_WalksAreJudged(t *testing.T) {
	t.Parallel()
	u, _ := universeOn(t, contract.Clean)
	u.zone = "z"
	u.admin = cloudBehind(t, noCloud{})
	clean := &contract.Walk{Name: contract.Clean, Namespace: u.namespace, Steps: []*contract.Step{
		{Name: contract.Create}, {Name: contract.Reconcile},
		{Name: contract.Migrate, Items: []contract.Item{{Resource: "secrets", Name: "s"}}}}}
	e := &contract.Evidence{Kind: "Network", Type: "n", CrashSteps: []string{contract.Migrate},
		Walks: map[string]*contract.Walk{contract.Clean: clean}}
	b4, _ := contract.ClauseByID("B4")
	b17, _ := contract.ClauseByID(contract.ByCrashes)
	ended := u.batch(t.Context(), contract.Migrate, []*point{{universe: u, operation: contract.Migrate}},
		[]*contract.Evidence{e})
	o := &options{out: t.TempDir()}
	for name, c := range map[string]struct {
		ended error
		want  string
	}{"crashes": {ended, "NonConformant Unknown"}, "walks": {errors.New("x"), ""}} {
		kinds, err := o.verdicts(t.Context(), u.kit, []subject{u.subject}, []*contract.Evidence{e},
			[]contract.Clause{b4, b17}, c.ended)
		got := ""
		if len(kinds) > 0 {
			got = fmt.Sprintf("%s %s", kinds[0].Findings["B4"].Outcome, kinds[0].Findings[b17.ID].Outcome)
		}
		if got != c.want || !errors.Is(err, c.ended) {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
	}
}

// A run that ends with an error leaves nothing of an earlier one that could be taken for its own.
func TestDiscard_ResultsOfAnEarlierRun_AreGone(t *testing.T) {
	t.Parallel()
	o := &options{out: filepath.Join(t.TempDir(), "not", "yet")}
	if err := o.discard(); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	report := contract.Report{Extension: "x", Reconciles: []string{"Network/n"}, Kinds: []contract.KindReport{
		{Kind: "Network", Type: "n", Findings: map[string]contract.Finding{
			"B4": {Outcome: contract.Conformant, Plan: filepath.Join(o.out, plansName, "B4.yaml")}}}}}
	if err := o.writeFile("plans/B4.yaml", nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.finish(io.Discard, report, contract.Clauses(), nil), o.write(recordName, "x")); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(o.out); err != nil || len(files) != 7 {
		t.Fatalf("%d files, want report, record, four results and the plans: %v", len(files), err)
	}
	if err := errors.Join(o.writeFile("mine.txt", nil), o.writeFile("plans/mine.yaml", nil)); err != nil {
		t.Fatal(err)
	}
	if err := o.discard(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(o.out, "*", "*"))
	others, wrong := filepath.Glob(filepath.Join(o.out, "*.*"))
	for i, file := range files {
		files[i] = filepath.Base(file)
	}
	for _, file := range others {
		files = append(files, filepath.Base(file))
	}
	if diff := cmp.Diff([]string{"mine.yaml", "mine.txt"}, files); diff != "" || err != nil || wrong != nil {
		t.Errorf("what is not of the command is left (-want +got):\n%s%v%v", diff, err, wrong)
	}
}

// What the user has given stays, also if it has the name of a result.
func TestDiscard_FileOfTheUser_IsRefused(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]func(*options, string){
		"contract.yaml": func(o *options, path string) { o.file = path },
		"badge.json":    func(o *options, path string) { o.expected = path },
		"report.json":   func(o *options, path string) { o.plan = path },
	} {
		o := &options{out: t.TempDir()}
		link := filepath.Join(t.TempDir(), "link")
		if err := errors.Join(o.writeFile(name, []byte("mine")), os.Symlink(o.out, link)); err != nil {
			t.Fatal(err)
		}
		given(o, filepath.Join(link, name))
		if err := o.discard(); err == nil || !strings.Contains(err.Error(), "--out: ") {
			t.Errorf("%s: %v", name, err)
		}
		if content, err := os.ReadFile(filepath.Join(o.out, name)); err != nil || string(content) != "mine" {
			t.Errorf("%s is %q: %v", name, content, err)
		}
	}
}

func TestExitError_HasItsCode(t *testing.T) {
	t.Parallel()
	coder := interface{ ExitCode() int }(nil)
	if err := error(&exitError{3, "unknown"}); !errors.As(err, &coder) || coder.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
}

// What found a plan stays when it is replayed, wherever that is.
func TestChooseOut_FolderOfThePlan_IsNotTaken(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"out/contract/x", "out/contract/x/replay", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(folder, plansName), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("elsewhere", "link"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ plan, out, want string }{
		"no plan":               {"", "", "out/contract/x"},
		"a plan of the run":     {"out/contract/x/plans/B4.yaml", "", "out/contract/x/replay"},
		"a plan of a replay":    {"out/contract/x/replay/plans/B4.yaml", "", "out/contract/x/replay/replay"},
		"a plan from elsewhere": {"elsewhere/plans/B4.yaml", "", "out/contract/x/replay"},
		"another folder":        {"out/contract/x/plans/B4.yaml", "elsewhere", "elsewhere"},
		"its folder":            {"out/contract/x/plans/B4.yaml", "out/contract/x", ""},
		"a link to its folder":  {"elsewhere/plans/B4.yaml", "link", ""},
	} {
		o := &options{plan: c.plan, out: c.out}
		err := o.chooseOut("x")
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "--out: ")):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err != nil || o.out != c.want):
			t.Errorf("%s: %q, want %q: %v", name, o.out, c.want, err)
		}
	}
}
