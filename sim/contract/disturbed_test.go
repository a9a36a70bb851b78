package contract

import (
	"strings"
	"testing"
)

// What a disturbed walk shows counts only if the undisturbed one keeps the clause that it builds on.
func TestJudge_DisturbedWalk_BuildsOnTheUndisturbed(t *testing.T) {
	t.Parallel()
	doubled := Call{Kind: "networks", ID: "n2", After: true}
	for name, c := range map[string]struct {
		clause string
		change func(*Evidence)
		want   Outcome
		reason string
	}{
		"deleted without a migrate": {"A9", func(e *Evidence) { e.Walks[Deleting].Step(MigrateDeleted).Writes = nil },
			NonConformant, "without a migrate"},
		"not gone": {"A9", func(e *Evidence) { e.Walks[Deleting].Step(MigrateDeleted).Missing = "a finalizer" },
			NonConformant, "a finalizer"},
		"migrates never": {"A9", func(e *Evidence) {
			e.Walks[Deleting].Step(MigrateDeleted).Missing = "a finalizer"
			e.Walks[Clean].Step(Migrate).Missing = "no answer"
		}, Unknown, "migrate was not answered"},
		"acts though failed": {"A13", func(e *Evidence) {
			e.Walks[Failed].Step(ReconcileFailed).Writes = []Write{own(object("reconcile", "Reconcile/Succeeded"))}
		}, NonConformant, "Reconcile/Succeeded"},
		"lost the request": {"A13", func(e *Evidence) { e.Walks[Failed].Step(Recovered).Missing = "no answer" },
			NonConformant, "no answer"},
		"creates always": {"C1", func(e *Evidence) {
			e.Walks[Clean].Step(Restore).Calls = []Call{doubled}
			e.Walks[Early].Step(Restore).Calls = []Call{doubled}
		}, Unknown, "breaks D1"},
		"creates from the first state": {"C1", func(e *Evidence) { e.Walks[Early].Step(Restore).Calls = []Call{doubled} },
			NonConformant, "networks/n2"},
		"without a state": {"D4", func(e *Evidence) { e.Walks[Lost].Step(Create).After.State = nil }, NotApplicable,
			"no state"},
		"doubled in vain": {"D4", func(e *Evidence) {
			e.Walks[Lost].Step(RestoreLost).Calls = []Call{doubled}
			e.Walks[Lost].Step(RestoreLost).Missing = "no answer"
		}, NonConformant, "are 2"},
		"no answer": {"D4", func(e *Evidence) { e.Walks[Lost].Step(RestoreLost).Missing = "no answer" }, Unknown,
			"no answer"},
		"restored without the cloud": {"E2", func(e *Evidence) {
			e.Walks[Refused].Step(RestoreRefused).After = object("", "Restore/Succeeded")
		}, NotApplicable, "succeeds"},
		"left in the cloud": {"E2", func(e *Evidence) { e.Walks[Refused].Step(Delete).Calls = nil }, NonConformant,
			"networks/n1"},
		"left always": {"E2", func(e *Evidence) {
			e.Walks[Refused].Step(Delete).Calls, e.Walks[Clean].Step(Delete).Calls = nil, nil
		}, Unknown, "breaks E1"},
		"the destination acts": {"F1", func(e *Evidence) { e.Walks[Stuck].Step(Thaw).Calls = []Call{deleted} },
			Conformant, ""},
		"not stuck": {"F1", func(e *Evidence) {
			e.Walks[Stuck].Step(CreateStuck).After = object("", "Create/Succeeded")
		}, NotApplicable, "never stuck"},
		"no retry": {"F1", func(e *Evidence) { e.Walks[Stuck].Step(Thaw).CloudRequests = 0 }, Unknown, "not tried again"},
		"lost the network": {"D4", func(e *Evidence) {
			e.Walks[Lost].Step(RestoreLost).Calls = []Call{deleted, doubled}
		}, NonConformant, "has deleted networks/n1"},
		"asks no cloud": {"B11", func(e *Evidence) { e.Walks[Bare].Step(MigrateRefused).CloudRequests = 0 }, NotApplicable,
			"asks nothing"},
		"reads the cloud": {"B11", func(e *Evidence) {
			e.Walks[Clean].Step(Migrate).CloudRequests = 1
			e.Walks[Bare].Step(MigrateRefused).Missing = "no answer"
		}, Unknown, "reads the cloud in migrate"},
		"takes the request off": {"A13", func(e *Evidence) { e.Walks[Failed].Step(ReconcileFailed).After.Operation = "" },
			Conformant, ""},
		"C1, no call":  {"C1", withoutCalls, Unknown, "no call"},
		"D4, no call":  {"D4", withoutCalls, Unknown, "no call"},
		"B11, no call": {"B11", withoutCalls, Unknown, "no call"},
		"no restore": {"F1", func(e *Evidence) { e.Walks[Stuck].Steps = e.Walks[Stuck].Steps[:3] }, Unknown,
			"thaw was not reached"},
	} {
		e := conforming()
		c.change(e)
		clause, _ := ClauseByID(c.clause)
		got := Judge(e, []Clause{clause}).Findings[c.clause]
		if got.Outcome != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s is %s %q, want %s with %q", name, c.clause, got.Outcome, got.Reason, c.want, c.reason)
		}
	}
}

// A call that the cloud has refused breaks the clauses that forbid to act, and none of those about what becomes of the
// cloud.
func TestJudge_RefusedCall_BreaksWhatForbidsToAct(t *testing.T) {
	t.Parallel()
	refused := Call{Identity: "x-source", Verb: "delete", Kind: "networks", ID: "n1", Refused: "Unauthorized"}
	for _, c := range []struct{ walk, step, want string }{
		{Clean, Create, ""}, {Clean, Reconcile, ""}, {Clean, Migrate, "B1 E3"}, {Clean, AfterMigrate, "B1 B8 E3"},
		{Clean, ReconcileAgain, "A10 B1 E3"}, {Clean, MigrateAgain, "B1 E3"}, {Clean, DeleteSource, "A11 B1 E3"},
		{Clean, Restore, "E3"}, {Clean, RestoreAgain, "E3"}, {Clean, ReconcileAfter, "E3"}, {Lost, RestoreLost, ""},
		{Foreign, Create, "A8"}, {Touched, ChangeStatus, "A3"}, {Deleting, MigrateDeleted, "A9"},
		{Failed, ReconcileFailed, "A13"}, {Stuck, Thaw, "F1"},
	} {
		e := conforming()
		e.Walks[c.walk].Step(c.step).Refused = []Call{refused}
		checkNamed(t, c.walk+" "+c.step, e, c.want, "delete networks/n1 (refused: Unauthorized)")
	}
	attempt := inCloud
	attempt.Took = false
	for step, want := range map[string]string{Restore: "D2", AfterMigrate: "B8", Create: ""} {
		e := conforming()
		s := e.Walks[Clean].Step(step)
		s.Writes = append([]Write{attempt}, s.Writes...)
		checkNamed(t, "a write in "+step, e, want, "post /networks in the cloud")
	}
}

// checkNamed fails the test if a record does not break these clauses and no others, each with the reason.
func checkNamed(t *testing.T, name string, e *Evidence, want, reason string) {
	t.Helper()
	var named []string
	for _, clause := range Clauses() {
		f := Judge(e, []Clause{clause}).Findings[clause.ID]
		if f.Outcome != NonConformant {
			continue
		}
		if named = append(named, clause.ID); !strings.Contains(f.Reason, reason) {
			t.Errorf("%s: %s says %q, want %q", name, clause.ID, f.Reason, reason)
		}
	}
	if got := strings.Join(named, " "); got != want {
		t.Errorf("%s: %q are named, want %q", name, got, want)
	}
}

func withoutCalls(e *Evidence) {
	for _, s := range e.Walks[Clean].Steps {
		s.Calls = nil
	}
}

// What is recommended, or nobody can keep, is noted and counts for no result.
func TestReport_ClausesAside_CountForNoResult(t *testing.T) {
	t.Parallel()
	e := conforming()
	e.Walks[Stuck].Step(Thaw).Calls = []Call{updated}
	e.Walks[Bare].Step(MigrateRefused).Missing = "no answer"
	report := Report{Extension: "x", Kinds: []KindReport{Judge(e, Clauses())}}
	if got := report.Outcome(); got != Conformant {
		t.Errorf("it is %s: %v", got, report.Counts())
	}
	for _, id := range []string{"B11", "F1"} {
		if f := report.Kinds[0].Findings[id]; f.Outcome != NonConformant || f.Shown() != Noted || f.Cell() != "note" {
			t.Errorf("%s is %+v", id, f)
		}
	}
	var text strings.Builder
	if err := report.Write(&text, Clauses()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"note  F1 ", "count for no result: B11 (recommended), F1 (report only)",
		"Conformant  x"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
}

// What belongs to a seed is not moved: the clauses about that do not apply.
func TestJudge_KindOfSeeds_IsNotMoved(t *testing.T) {
	t.Parallel()
	e := conforming()
	e.Kind, e.Stays = "BackupBucket", true
	report := Judge(e, Clauses())
	for id, want := range map[string]Outcome{"A4": Conformant, "E1": Conformant, "B1": NotApplicable, "D1": NotApplicable,
		"G4": NotApplicable, "B2": NotJudged} {
		if f := report.Findings[id]; f.Outcome != want {
			t.Errorf("%s is %s: %s, want %s", id, f.Outcome, f.Reason, want)
		}
	}
	for name, want := range map[string]string{Clean: "create reconcile delete", Short: "create delete", Never: ""} {
		if got := strings.Join(e.Takes(WalkSteps[name]), " "); got != want {
			t.Errorf("the walk %s has %q, want %q", name, got, want)
		}
	}
	for walk := range WalkSteps {
		if walk == Clean {
			continue
		}
		if clause, known := ClauseByID(walkFor[walk]); !known || !clause.IsJudged() || !Needs([]Clause{clause}, walk) {
			t.Errorf("no clause needs the walk %s", walk)
		}
	}
}
