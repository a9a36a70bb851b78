package contract

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// rows are those of the tables of docs/contract.md.
var rows = regexp.MustCompile(`(?m)^\| <a id="clause-[a-z]\d+"></a>([A-Z]\d+) \| (.*?) \| .*? \| (.*) \|$`)

var links = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

func TestClauses_AreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	found := rows.FindAllStringSubmatch(string(content), -1)
	all := Clauses()
	if len(found) != len(all) {
		t.Errorf("%d clauses, and the document has %d", len(all), len(found))
	}
	plain := strings.NewReplacer("`", "", "*", "")
	for i, row := range found[:min(len(found), len(all))] {
		if want := plain.Replace(links.ReplaceAllString(row[2], "$1")); all[i].ID != row[1] || all[i].Text != want {
			t.Errorf("clause %s is\n%q, and %s of the document\n%q", all[i].ID, all[i].Text, row[1], want)
		}
		if says := row[3] == "kit" || strings.HasSuffix(row[3], "; kit"); says != all[i].IsJudged() {
			t.Errorf("the kit judges %s: %t, and the document has %q", row[1], all[i].IsJudged(), row[3])
		}
	}
}

func TestClauses_SayHowTheyAreJudged(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range Clauses() {
		known[c.ID] = true
		if saysNot := strings.HasPrefix(c.How, "Not judged: "); saysNot == c.IsJudged() || c.How == "" {
			t.Errorf("%s is judged: %t, and says %q", c.ID, c.IsJudged(), c.How)
		}
	}
	for _, c := range Clauses() {
		if !slices.Contains(Profiles, c.Profile) {
			t.Errorf("%s has the profile %q", c.ID, c.Profile)
		}
	}
	for id := range judges {
		if !known[id] {
			t.Errorf("%s has a judge and no row", id)
		}
	}
	if c, found := ClauseByID("b4"); !found || c.Reference() != "docs/contract.md#clause-b4" {
		t.Errorf("b4 is %+v", c)
	}
}

// object is a snapshot in a few words.
func object(operation, last string, change ...func(*Snapshot)) Snapshot {
	ofType, state, _ := strings.Cut(last, "/")
	s := Snapshot{Operation: operation, LastType: ofType, LastState: state, LastUpdated: last, Generation: 1, Observed: 1,
		Finalizers: []string{"f"}, State: []byte(`{"id":"n1"}`), Results: []byte(`{"providerStatus":{"id":"n1"}}`)}
	for _, one := range change {
		one(&s)
	}
	return s
}

func free(s *Snapshot) { s.Finalizers = nil }

func own(after Snapshot) Write {
	return Write{Own: true, Took: true, Verb: "patch", Resource: "networks.extensions.gardener.cloud", Name: "contract",
		Namespace: "shoot--p--x", After: &after}
}

var (
	inCloud  = Write{Cloud: true, Took: true, Verb: "post", Resource: "/networks"}
	created  = Call{Identity: "x-source", Verb: "create", Kind: "networks", ID: "n1", After: true}
	updated  = Call{Identity: "x-source", Verb: "update", Kind: "networks", ID: "n1", Before: true, After: true}
	deleted  = Call{Identity: "x-destination", Verb: "delete", Kind: "networks", ID: "n1", Before: true}
	onSource = []Item{{Resource: "secrets", Name: "s"}}
)

// conforming is the record of an extension that keeps all clauses.
func conforming() *Evidence {
	reconciled, migrated := object("", "Reconcile/Succeeded"), object("", "Migrate/Succeeded", free)
	restored := object("", "Restore/Succeeded")
	gone := Snapshot{Gone: true}
	persisted := map[string]string{"ca": "1"}
	clean := &Walk{Name: Clean, Namespace: "shoot--p--x", Steps: []*Step{
		{Name: Create, Before: gone, After: object("", "Create/Succeeded"), Calls: []Call{created},
			Writes: []Write{inCloud, own(object("", "Create/Succeeded"))}},
		{Name: Reconcile, Before: object("reconcile", "Create/Succeeded"), After: reconciled, Items: onSource,
			Persisted: persisted, Managed: []Managed{{Name: "m"}},
			Writes: []Write{own(object("", "Create/Succeeded")), own(object("", "Reconcile/Processing")), own(reconciled)}},
		{Name: Migrate, Before: reconciled, After: migrated, Items: []Item{}, Persisted: persisted,
			Managed: []Managed{{Name: "m", KeepObjects: true, Deleted: true}},
			Writes: []Write{own(object("migrate", "Migrate/Processing")), own(object("migrate", "Migrate/Succeeded")),
				own(object("migrate", "Migrate/Succeeded", free)), own(migrated)}},
		{Name: AfterMigrate, Before: migrated, After: migrated},
		{Name: ReconcileAgain, Before: migrated, After: migrated, Writes: []Write{own(migrated)}},
		{Name: MigrateAgain, Before: migrated, After: migrated, Items: []Item{}, Writes: []Write{own(migrated)}},
		{Name: DeleteSource, Before: migrated, After: gone},
		{Name: WaitForState, Before: gone, After: object("wait-for-state", "/", free)},
		{Name: Restore, Before: object("restore", "/", free), After: restored, Items: onSource, Handed: migrated.State,
			Writes: []Write{own(object("restore", "/")), own(object("restore", "Restore/Processing")),
				own(object("restore", "Restore/Succeeded")), own(restored)}},
		{Name: RestoreAgain, Before: restored, After: restored, Items: onSource, Writes: []Write{own(restored)}},
		{Name: ReconcileAfter, Before: restored, After: reconciled, Items: onSource, Writes: []Write{own(restored),
			own(reconciled)}},
		{Name: Delete, Before: reconciled, After: gone, Calls: []Call{deleted}},
	}}
	one := func(walk string, names ...string) *Walk {
		w := &Walk{Name: walk}
		for _, name := range names {
			w.Steps = append(w.Steps, &Step{Name: name})
		}
		return w
	}
	e := &Evidence{Kind: "Infrastructure", Type: "t", HasExternal: true, WithoutShoot: true, Wait: time.Minute,
		CrashSteps: []string{Restore, Migrate},
		Seeds:      []string{"source", "127.16.0.1"}, Walks: map[string]*Walk{Clean: clean, Never: one(Never, Migrate),
			Back: one(Back, Create, Migrate, Restore), Foreign: one(Foreign, Create), NoSeed: one(NoSeed, Create)}}
	for _, name := range []string{Short, Touched, Deleting, Failed, Bare, Early, Lost, Refused, Stuck} {
		e.Walks[name] = one(name, WalkSteps[name]...)
		*e.Walks[name].Steps[0] = Step{Name: WalkSteps[name][0], Before: gone, After: object("", "Create/Succeeded"),
			Calls: []Call{created}}
	}
	e.Walks[Deleting].Step(MigrateDeleted).Before = object("", "Create/Succeeded")
	e.Walks[Deleting].Step(MigrateDeleted).Writes = []Write{own(object("migrate", "Migrate/Succeeded"))}
	e.Walks[Failed].Step(ReconcileFailed).After = object("reconcile", "Create/Succeeded")
	e.Walks[Bare].Step(MigrateRefused).CloudRequests = 1
	*e.Walks[Stuck].Step(CreateStuck) = Step{Name: CreateStuck, Before: gone, After: object("", "Create/Error")}
	e.Walks[Stuck].Step(Thaw).CloudRequests = 1
	e.Walks[Refused].Step(RestoreRefused).After = object("restore", "Restore/Error")
	e.Walks[Refused].Step(Delete).Calls = []Call{deleted}
	for _, step := range []string{Migrate, Restore} {
		final, _ := e.CleanFinal(step)
		e.Crashes = append(e.Crashes, Crash{Step: step, Writes: 1, Final: final, Alone: true})
	}
	return e
}

// The record keeps every clause that is judged.
func TestJudge_ConformingRecord_HasNoFinding(t *testing.T) {
	t.Parallel()
	report := Judge(conforming(), Clauses())
	for _, c := range Clauses() {
		f := report.Findings[c.ID]
		switch {
		case c.ID == "D5": // about another kind
		case !c.IsJudged() && f.Outcome != NotJudged:
			t.Errorf("%s is not judged, and is %s", c.ID, f.Outcome)
		case c.IsJudged() && f.Outcome != Conformant:
			t.Errorf("%s is %s: %s", c.ID, f.Outcome, f.Reason)
		}
	}
}

// Each clause has a record that breaks it. The other clauses that the same record breaks are named: they say the same
// of another place.
func TestJudge_BrokenRecord_IsNamedByItsClause(t *testing.T) {
	t.Parallel()
	of := func(name string, change func(*Step)) func(*Evidence) {
		return func(e *Evidence) { change(e.Walks[Clean].Step(name)) }
	}
	at := func(walk, name string, change func(*Step)) func(*Evidence) {
		return func(e *Evidence) { change(e.Walks[walk].Step(name)) }
	}
	unanswered := func(walk, name string) func(*Evidence) {
		return func(e *Evidence) { e.Walks[walk].Step(name).Missing = "no answer" }
	}
	write := func(writes ...Write) func(*Step) {
		return func(s *Step) { s.Writes = append(s.Writes, writes...) }
	}
	call := func(c Call) func(*Step) { return func(s *Step) { s.Calls = append(s.Calls, c) } }
	secret := Write{Took: true, Verb: "create", Resource: "secrets", Name: "s", Namespace: "shoot--p--x"}
	broken := map[string]struct {
		change func(*Evidence)
		also   string
	}{
		"A1": {of(WaitForState, write(secret)), ""},
		"A2": {of(Restore, func(s *Step) { s.After.State = []byte(`{"id":"n2"}`) }), "B17"},
		"A3": {at(Touched, ChangeStatus, write(own(object("", "Reconcile/Succeeded")))), ""},
		"A4": {of(Reconcile, func(s *Step) { s.Writes = append([]Write{secret}, s.Writes...) }), ""},
		"A5": {of(Restore, func(s *Step) {
			s.Writes = []Write{own(object("", "Restore/Error")), own(object("", "Restore/Succeeded"))}
		}), ""},
		"A6":  {of(Migrate, write(own(object("", "Migrate/Error", func(s *Snapshot) { s.Observed = 0 })))), "B7 B8"},
		"A7":  {of(Restore, func(s *Step) { s.Writes[1] = own(object("restore", "Reconcile/Processing")) }), ""},
		"A8":  {func(e *Evidence) { write(own(object("", "Create/Succeeded")))(e.Walks[Foreign].Steps[0]) }, ""},
		"A9":  {at(Deleting, MigrateDeleted, call(deleted)), ""},
		"A10": {of(ReconcileAgain, write(own(object("", "Reconcile/Processing", free)))), ""},
		"A11": {unanswered(Clean, DeleteSource), ""},
		"A12": {unanswered(Back, Restore), ""},
		"A13": {at(Failed, ReconcileFailed, write(own(object("", "Reconcile/Succeeded")))), ""},
		"A14": {unanswered(Clean, MigrateAgain), ""},
		"B1":  {of(Migrate, call(updated)), ""},
		"B3":  {of(Migrate, func(s *Step) { s.Managed[0].KeepObjects = false }), ""},
		"B4":  {of(Migrate, func(s *Step) { s.Items = onSource }), "A14 B17"},
		"B5":  {of(Migrate, func(s *Step) { s.Persisted = map[string]string{"ca": "2"} }), ""},
		"B6":  {of(Migrate, func(s *Step) { s.After.Finalizers = []string{"f"} }), "B17"},
		"B7": {of(Migrate, func(s *Step) {
			s.Writes[1], s.Writes[2] = own(object("migrate", "Migrate/Processing", free)), s.Writes[1]
		}), ""},
		"B8":  {of(AfterMigrate, write(secret)), ""},
		"B9":  {of(Migrate, func(s *Step) { s.After.State = nil }), "B17"},
		"B10": {unanswered(Clean, Migrate), "B13"},
		"B11": {unanswered(Bare, MigrateRefused), ""},
		"B12": {unanswered(Never, Migrate), ""},
		"B13": {func(e *Evidence) { e.WithoutShoot = false; unanswered(Clean, Migrate)(e) }, ""},
		"B17": {func(e *Evidence) { e.Crashes[0].Final.Items = "secrets/s" }, ""},
		"C1":  {unanswered(Early, Restore), ""},
		"C2":  {of(Create, func(s *Step) { s.After.State = []byte(`{"id":"n0"}`) }), ""},
		"C3": {func(e *Evidence) {
			for _, name := range []string{Create, Reconcile, Migrate, Restore} {
				e.Walks[Clean].Step(name).After.State = []byte(`{"seed":"source"}`)
			}
			restore := e.Walks[Clean].Step(Restore)
			restore.Handed, restore.Before.State = restore.After.State, restore.After.State
		}, ""},
		"C5": {func(e *Evidence) {
			unanswered(Clean, Restore)(e)
			e.Walks[Clean].Steps = append(e.Walks[Clean].Steps, &Step{Name: RestoreHelped})
		}, "A2"},
		"D1": {of(Restore, call(Call{Verb: "create", Kind: "networks", ID: "n2", After: true})), "B17 E1"},
		"D2": {of(Restore, func(s *Step) { s.Writes = append([]Write{inCloud}, s.Writes...) }), ""},
		"D3": {of(Restore, func(s *Step) { s.After.Results = []byte("{}") }), "B17"},
		"D4": {at(Lost, RestoreLost, call(Call{Kind: "networks", ID: "n2", After: true})), ""},
		"D5": {func(e *Evidence) {
			e.Kind, e.Walks[Clean].Step(Reconcile).Machines = "Worker", []string{"m1 id1 node1"}
			e.Walks[Clean].Step(Restore).Machines = []string{"m2 id1 node1"}
		}, "B17"},
		"D9":  {of(RestoreAgain, func(s *Step) { s.Items = []Item{} }), "A14"},
		"D10": {of(ReconcileAfter, call(updated)), ""},
		"D13": {of(ReconcileAfter, func(s *Step) { s.After.LastType = "Restore" }), ""},
		"E1":  {of(Delete, func(s *Step) { s.Calls = nil }), ""},
		"E2":  {unanswered(Refused, Delete), ""},
		"F1":  {at(Stuck, Thaw, call(updated)), ""},
		"E3": {of(ReconcileAgain, call(Call{Identity: "x-source", Verb: "delete", Kind: "networks", ID: "n1", Before: true})),
			"A10 B1 B17"},
		"G4": {unanswered(NoSeed, Create), ""},
	}
	for id := range judges {
		// No record shows that a restore waits for the garden: there is none.
		if _, tried := broken[id]; !tried && id != "G3" {
			t.Errorf("no record breaks %s", id)
		}
	}
	for id, c := range broken {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e := conforming()
			c.change(e)
			var named []string
			for _, clause := range Clauses() {
				if f := Judge(e, []Clause{clause}).Findings[clause.ID]; f.Outcome == NonConformant {
					if clause.ID != id {
						named = append(named, clause.ID)
					}
				} else if clause.ID == id {
					t.Errorf("%s is %s: %s", id, f.Outcome, f.Reason)
				}
			}
			if got := strings.Join(named, " "); got != c.also {
				t.Errorf("also named: %q, want %q", got, c.also)
			}
		})
	}
}

func TestJudge_NothingSeen_IsUnknown(t *testing.T) {
	t.Parallel()
	report := Judge(&Evidence{Kind: "Infrastructure", WithoutShoot: true, Walks: map[string]*Walk{}}, Clauses())
	for _, c := range Clauses() {
		if f := report.Findings[c.ID]; c.IsJudged() && f.Outcome != Unknown {
			t.Errorf("%s is %s: %s", c.ID, f.Outcome, f.Reason)
		}
	}
}

// An object with fewer writes than the undisturbed one has come to its last point only if another shows that their
// number varies.
func TestAcceptShortages_CountsIfAnotherEndsSo(t *testing.T) {
	t.Parallel()
	short := Crash{Step: Migrate, Writes: 4, Missed: true, Ended: true, Passed: 3}
	with := func(change func(*Crash)) []Crash {
		c := short
		change(&c)
		return []Crash{c}
	}
	for name, c := range map[string]struct {
		crash  Crash
		others []Crash
		walk   int // writes of the migrate of another object
		want   bool
	}{
		"another point":     {short, with(func(c *Crash) { c.Writes, c.Missed = 3, false }), 4, true},
		"the same point":    {short, with(func(*Crash) {}), 4, false},
		"another step":      {short, with(func(c *Crash) { c.Step, c.Writes = Restore, 3 }), 4, false},
		"another count":     {short, with(func(c *Crash) { c.Writes, c.Passed = 2, 2 }), 4, false},
		"one that goes on":  {short, with(func(c *Crash) { c.Writes, c.Ended = 3, false }), 4, false},
		"none":              {short, nil, 4, false},
		"undisturbed":       {short, nil, 3, true},
		"no answer":         {with(func(c *Crash) { c.Ended = false })[0], nil, 3, false},
		"undisturbed, last": {with(func(c *Crash) { c.Step = Restore })[0], nil, 3, false},
	} {
		e := conforming()
		e.Crashes = append([]Crash{c.crash}, c.others...)
		for _, s := range []*Step{e.Walks[Back].Step(Migrate), e.Walks[Back].Step(Restore)} {
			s.Writes = slices.Repeat([]Write{inCloud}, c.walk)
		}
		for _, walk := range []string{Clean, Early, Lost, Refused, Bare, Deleting} {
			if s := e.Walks[walk].Step(Migrate); s != nil {
				s.Writes = slices.Repeat([]Write{inCloud}, 4)
			}
		}
		if e.AcceptShortages(); e.Crashes[0].Missed == c.want {
			t.Errorf("%s: it is taken for tried: %t", name, !e.Crashes[0].Missed)
		}
	}
}

// What was seen of the crash points of one step decides by itself; only what differs alone breaks the clause.
func TestSurvivesCrashes_Points(t *testing.T) {
	t.Parallel()
	differs := func(c *Crash) { c.Final.Cloud = "2 networks" }
	missed := func(c *Crash) { c.Missed, c.Final = true, Final{Missing: "create was not answered"} }
	idle := func(c *Crash) { c.Missed = true }
	shared := func(c *Crash) { c.Alone = false }
	for name, c := range map[string]struct {
		changes []func(*Crash) // of the point of migrate
		alone   []func(*Crash) // of its second try; none without
		walk    func(*Evidence)
		want    Outcome
		reason  string
	}{
		"all agree":       {nil, nil, nil, Conformant, "2 crash points"},
		"differs alone":   {[]func(*Crash){differs}, nil, nil, NonConformant, "in the cloud"},
		"not tried alone": {[]func(*Crash){differs, shared}, nil, nil, Unknown, "1 of 1 crash points"},
		"agrees alone":    {[]func(*Crash){differs, shared}, []func(*Crash){}, nil, Unknown, "it differed once"},
		"differs twice":   {[]func(*Crash){differs, shared}, []func(*Crash){differs}, nil, NonConformant, "2 networks"},
		"missed alone":    {[]func(*Crash){differs, shared}, []func(*Crash){missed}, nil, Unknown, "2 of 2 crash points"},
		"missed":          {[]func(*Crash){missed}, nil, nil, Unknown, "migrate after write 1: create was not answered"},
		"idle, not again": {[]func(*Crash){idle, shared}, []func(*Crash){}, nil, Conformant, "2 crash points"},
		"idle, differs": {[]func(*Crash){idle, shared}, []func(*Crash){differs}, nil, NonConformant,
			"2 networks"},
		"idle twice": {[]func(*Crash){idle, shared}, []func(*Crash){idle}, nil, Unknown, "2 of 2 crash"},
		"missed, not again": {[]func(*Crash){missed, shared}, []func(*Crash){}, nil, Unknown,
			"migrate after write 1: create was not answered"},
		"differs, no restore": {[]func(*Crash){differs}, nil, withoutRestore, NonConformant, "in the cloud"},
		"no restore":          {nil, nil, withoutRestore, Unknown, "restore was not answered"},
		"calls of nobody": {nil, nil, func(e *Evidence) { e.Walks[Clean].Step(Migrate).Unscoped = 1 }, Unknown,
			"for another object"},
	} {
		e := conforming()
		again := e.Crashes[0]
		for _, change := range c.changes {
			change(&e.Crashes[0])
		}
		if c.alone != nil {
			for _, change := range c.alone {
				change(&again)
			}
			e.Crashes = append(e.Crashes, again)
		}
		if c.walk != nil {
			c.walk(e)
		}
		if got := survivesCrashes(e); got.Outcome != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s %q, want %s with %q", name, got.Outcome, got.Reason, c.want, c.reason)
		}
	}
}

func withoutRestore(e *Evidence) {
	e.Walks[Clean].Step(Restore).Missing = "no answer"
	e.Crashes = e.Crashes[:1]
}

// A replay shows a finding again if the way is the same. What differs from time to time is no part of it.
func TestWay_WhatDiffersFromTimeToTime_IsNoPart(t *testing.T) {
	t.Parallel()
	missing := func(text string) func(*Evidence) {
		return func(e *Evidence) { e.Walks[Clean].Step(Restore).Missing = text }
	}
	writes := func(resources ...string) func(*Evidence) {
		return func(e *Evidence) {
			for _, resource := range resources {
				s := e.Walks[Clean].Step(WaitForState)
				s.Writes = append(s.Writes, Write{Took: true, Verb: "create", Resource: resource, Name: "n"})
			}
		}
	}
	state := func(text string) func(*Evidence) {
		return func(e *Evidence) { e.Walks[Clean].Step(Reconcile).After.State = []byte(`{"at":"` + text + `"}`) }
	}
	for id, c := range map[string]struct{ one, other, another func(*Evidence) }{
		"A2": {missing("it has not reacted"), missing("it is not Ready: Processing"), nil},
		"A1": {writes("secrets"), writes("secrets", "configmaps"), writes("configmaps", "secrets")},
		"C3": {state("source"), state("127.16.0.1"), nil},
	} {
		way := func(change func(*Evidence)) string {
			e := conforming()
			change(e)
			f := judges[id](e)
			if f.Outcome != NonConformant {
				t.Errorf("%s is %+v", id, f)
			}
			return f.Way
		}
		if one, other := way(c.one), way(c.other); one != other {
			t.Errorf("%s: %q and %q", id, one, other)
		}
		if c.another != nil && way(c.one) == way(c.another) {
			t.Errorf("%s: another kind comes first, and the way is %q all the same", id, way(c.one))
		}
	}
}

// Names differ by the shoot and by chance; nothing else may.
func TestFinalOf_NamesOfItems_AreWithoutChance(t *testing.T) {
	t.Parallel()
	of := func(namespace string, names ...string) string {
		s := &Step{}
		for _, name := range names {
			s.Items = append(s.Items, Item{Resource: "secrets", Name: name})
		}
		return FinalOf(namespace, nil, []*Step{s}).Items
	}
	clean := of("shoot--p--network0-clean", "a-shoot--p--network0-clean", "ca-network0-clean", "config-3fa0b2c1",
		"pod-7d9f8c6b5-x2x4z", "plain")
	crash := of("shoot--p--network0-crash-migrate-1", "a-shoot--p--network0-crash-migrate-1",
		"ca-network0-crash-migrate-1", "config-00000000", "pod-6b5f4c7d8-bcdfg", "plain")
	want := "secrets/a-$namespace secrets/ca-$shoot secrets/config-* secrets/plain secrets/pod-*-*"
	if clean != want || crash != want {
		t.Errorf("%q and %q, want %q", clean, crash, want)
	}
	other := of("shoot--p--network0-clean", "ca-network0-cleaner", "config-3fa0b2c1", "config-00000000")
	if want := "secrets/ca-network0-cleaner secrets/config-* secrets/config-*"; other != want {
		t.Errorf("%q, want %q", other, want)
	}
}

// What a record shows decides, and no more than that.
func TestJudge_Record_ShowsNoMoreThanItSays(t *testing.T) {
	t.Parallel()
	unanswered := func(walk string, names ...string) func(*Evidence) {
		return func(e *Evidence) {
			for _, name := range names {
				e.Walks[walk].Step(name).Missing = "no answer"
			}
		}
	}
	both := func(changes ...func(*Evidence)) func(*Evidence) {
		return func(e *Evidence) {
			for _, change := range changes {
				change(e)
			}
		}
	}
	on := func(name string, change func(*Step)) func(*Evidence) {
		return func(e *Evidence) { change(e.Walks[Clean].Step(name)) }
	}
	calls := func(name string, all ...Call) func(*Evidence) { return on(name, func(s *Step) { s.Calls = all }) }
	nobody := func(name string) func(*Evidence) { return on(name, func(s *Step) { s.Unscoped = 1 }) }
	state := func(text string) func(*Evidence) {
		return on(Reconcile, func(s *Step) { s.After.State = []byte(text) })
	}
	gone := Call{Identity: "x-source", Verb: "delete", Kind: "networks", ID: "n1", Before: true}
	secret := Write{Took: true, Verb: "create", Resource: "secrets", Name: "s"}
	neverAnswers := both(unanswered(Clean, Create), unanswered(NoSeed, Create), unanswered(Never, Migrate),
		func(e *Evidence) { e.Walks[Clean].Steps = e.Walks[Clean].Steps[:1] })
	notMigrated := unanswered(Clean, Migrate)
	notRestored := unanswered(Clean, Restore)
	for name, c := range map[string]struct {
		change func(*Evidence)
		want   map[string]Outcome
	}{
		"part of a word": {state(`{"resources":[],"resource":"r","at":"127.16.0.12"}`), map[string]Outcome{"C3": Conformant}},
		"the seed":       {state(`{"made":"on source"}`), map[string]Outcome{"C3": NonConformant}},
		"its address":    {state(`{"at":"https://127.16.0.1:6443"}`), map[string]Outcome{"C3": NonConformant}},
		"never answers": {neverAnswers, map[string]Outcome{"G4": Unknown, "B12": Unknown, "A8": Unknown, "A1": Unknown,
			"C5": Unknown, "G3": Unknown}},
		"lost while it waits": {on(Restore, func(s *Step) { s.Before.State = nil }),
			map[string]Outcome{"A2": NonConformant}},
		"lost in restore": {on(Restore, func(s *Step) { s.After.State = nil }),
			map[string]Outcome{"A2": NonConformant}},
		"not restored": {notRestored, map[string]Outcome{"C5": Unknown, "G3": Unknown, "A2": NonConformant, "A1": Unknown}},
		"another type, a Secret": {func(e *Evidence) { e.Walks[Foreign].Steps[0].Writes = []Write{secret} },
			map[string]Outcome{"A8": Unknown}},
		"calls of reconcile only": {both(calls(Create), calls(Reconcile, created)),
			map[string]Outcome{"B1": Conformant, "D1": Conformant, "E1": Conformant, "E3": Conformant}},
		"no calls": {func(e *Evidence) {
			e.HasExternal = false
			both(calls(Create), calls(Delete))(e)
		}, map[string]Outcome{"B1": NotApplicable, "E3": NotApplicable}},
		"no calls of a shoot": {func(e *Evidence) {
			e.HasExternal = false
			both(calls(Create), calls(Delete), nobody(Create))(e)
		}, map[string]Outcome{"B1": Unknown, "E3": Unknown, "D10": Unknown}},
		"create, of nobody": {nobody(Create), map[string]Outcome{"B1": Conformant, "D1": Conformant}},
		"migrate, of nobody": {nobody(Migrate), map[string]Outcome{"B1": Unknown, "B8": Unknown, "E3": Unknown,
			"D1": Conformant}},
		"restore, of nobody": {nobody(Restore), map[string]Outcome{"D1": Unknown, "D2": Unknown, "B1": Conformant}},
		"again, of nobody":   {nobody(RestoreAgain), map[string]Outcome{"A14": Unknown, "D9": Unknown, "A10": Conformant}},
		"delete, of nobody":  {both(calls(Delete), nobody(Delete)), map[string]Outcome{"E1": Unknown}},
		"migrate, calls and no answer": {both(notMigrated, calls(Migrate, gone)),
			map[string]Outcome{"B1": NonConformant, "E3": NonConformant}},
		"migrate, no answer": {notMigrated, map[string]Outcome{"B1": Unknown, "B3": Unknown, "B5": Unknown, "B7": Unknown,
			"B8": Unknown, "E3": Unknown, "A5": Unknown, "A7": Unknown}},
		"migrate, objects and no answer": {both(notMigrated, on(Migrate, func(s *Step) {
			s.Managed[0].KeepObjects, s.Persisted = false, map[string]string{}
			s.Writes = append(s.Writes[:2:2], secret, own(object("", "Reconcile/Processing", free)))
		})), map[string]Outcome{"B3": NonConformant, "B5": NonConformant, "B7": NonConformant, "B8": NonConformant}},
		"migrate, wrong type and no restore": {both(notRestored, on(Migrate, func(s *Step) {
			s.Writes = []Write{own(object("", "Reconcile/Processing"))}
		})), map[string]Outcome{"A5": NonConformant, "A7": NonConformant}},
		"restore, a call and no answer": {both(notRestored, calls(Restore, created), on(Restore, func(s *Step) {
			s.Writes = []Write{inCloud}
		})), map[string]Outcome{"D1": NonConformant, "D2": NonConformant}},
		"reconcile after, a call and no answer": {both(unanswered(Clean, ReconcileAfter), calls(ReconcileAfter, updated)),
			map[string]Outcome{"D10": NonConformant}},
		"the source deletes before it moves": {calls(Reconcile, gone), map[string]Outcome{"E3": Conformant}},
		"says first that it begins": {on(Reconcile, func(s *Step) {
			s.Writes = append([]Write{own(object("reconcile", "Reconcile/Processing"))}, s.Writes...)
		}), map[string]Outcome{"A4": Conformant}},
		"succeeds before it answers": {on(Reconcile, func(s *Step) {
			s.Writes = []Write{own(object("reconcile", "Reconcile/Processing")), own(object("reconcile", "Reconcile/Succeeded"))}
		}), map[string]Outcome{"A4": NonConformant}},
		"has results before it answers": {on(Reconcile, func(s *Step) {
			s.Writes = []Write{own(object("reconcile", "Reconcile/Processing", func(s *Snapshot) { s.Results = []byte("{}") }))}
		}), map[string]Outcome{"A4": NonConformant}},
		"takes its finalizer off a Secret": {both(on(Create, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1", "f"))
		}), on(Migrate, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1"))
		})), map[string]Outcome{"B8": Conformant}},
		"changes a Secret with the finalizer": {both(on(Create, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1", "f"))
		}), on(Migrate, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("2"))
		})), map[string]Outcome{"B8": NonConformant}},
		"writes a Secret with its finalizer": {both(on(Create, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1", "f"))
		}), on(Migrate, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1", "f"))
		})), map[string]Outcome{"B8": NonConformant}},
		"writes a Secret that was not written": {on(Migrate, func(s *Step) {
			s.Writes = append(s.Writes, ofSecret("1"))
		}), map[string]Outcome{"B8": NonConformant}},
		"has other machines for some time": {machines(on(Restore, func(s *Step) {
			s.MachinesSeen = []string{"m1 id1 node1", "m2 id2 node2"}
		})), map[string]Outcome{"D5": NonConformant}},
		"has other machines after the restore": {machines(on(ReconcileAfter, func(s *Step) {
			s.MachinesSeen = []string{"m1 id1 node1", "m2 id2 node2"}
		})), map[string]Outcome{"D5": NonConformant}},
		"has the state that was handed over": {on(Restore, func(s *Step) {
			s.Handed = []byte(`{"machines":1}`)
			s.Before.State, s.After.State = s.Handed, s.Handed
		}), map[string]Outcome{"A2": Conformant}},
		"has its machines alone": {machines(on(Restore, func(s *Step) {
			s.MachinesSeen = []string{"m1 id1 node1"}
		})), map[string]Outcome{"D5": Conformant}},
	} {
		e := conforming()
		c.change(e)
		for id, want := range c.want {
			if got := judges[id](e); got.Outcome != want {
				t.Errorf("%s: %s is %s %q, want %s", name, id, got.Outcome, got.Reason, want)
			}
		}
	}
}

// ofSecret is a write to a Secret.
func ofSecret(content string, finalizers ...string) Write {
	return Write{Took: true, Verb: "patch", Resource: "secrets", Namespace: "shoot--p--x", Name: "cloudprovider",
		After: &Snapshot{Finalizers: finalizers}, Content: content}
}

// machines makes the record one of a Worker with a machine.
func machines(change func(*Evidence)) func(*Evidence) {
	return func(e *Evidence) {
		e.Kind = "Worker"
		for _, name := range []string{Reconcile, Restore} {
			e.Walks[Clean].Step(name).Machines = []string{"m1 id1 node1"}
		}
		change(e)
	}
}

// A multiplied wait lets an answer come that a gardenlet does not wait for: neither in time nor missing.
func TestInTime_LaterThanAGardenletWaits_IsUnknown(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]Outcome{time.Minute: Conformant, time.Minute + 1: Unknown} {
		e := conforming()
		e.Walks[Clean].Step(Migrate).Took = took
		if got := inTime(e); got.Outcome != want {
			t.Errorf("after %s: %s %s, want %s", took, got.Outcome, got.Reason, want)
		}
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	got := Look(map[string]any{
		"metadata": map[string]any{"generation": float64(3), "finalizers": []any{"f"},
			"annotations": map[string]any{"gardener.cloud/operation": "migrate"}},
		"status": map[string]any{"observedGeneration": int64(2), "state": map[string]any{"b": "2", "a": "1"},
			"lastOperation":  map[string]any{"type": "Migrate", "state": "Error", "lastUpdateTime": "now"},
			"lastError":      map[string]any{"description": "why"},
			"providerStatus": map[string]any{"id": "n"}, "conditions": []any{},
			"machineDeploymentsLastUpdateTime": "now"},
	})
	if got.Operation != "migrate" || got.Generation != 3 || got.Observed != 2 || got.LastType != "Migrate" ||
		got.LastState != "Error" || got.LastError != "why" || string(got.State) != `{"a":"1","b":"2"}` ||
		string(got.Results) != `{"providerStatus":{"id":"n"}}` || len(got.Finalizers) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestReport_Write_SaysWhatIsNotJudged(t *testing.T) {
	t.Parallel()
	e := conforming()
	e.Walks[Clean].Step(Migrate).Items = onSource
	report := Report{Extension: "x", Kinds: []KindReport{Judge(e, Clauses()),
		{Kind: "Worker", Type: "t", Reason: "no object"}}}
	var text strings.Builder
	if err := report.Write(&text, Clauses()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Infrastructure/t", "NOT   B4 Infrastructure/t: secrets/s is left",
		"?     Worker/t: no object",
		"not judged by this version", " B14 ", "NonConformant  x  "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
	if report.Outcome() != NonConformant {
		t.Errorf("it is %s", report.Outcome())
	}
}
