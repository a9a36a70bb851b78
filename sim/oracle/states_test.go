package oracle_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// vault is an observed state of a third-party Extension.
func vault(seed, uid, operation, state, holds string) timeline.Event {
	return by("observer", "alpha", timeline.ExtensionStateSeen{
		Seed: seed, Object: "Extension vault", UID: uid, Operation: timeline.Operation{Type: operation, State: state},
		Holds: holds,
	})
}

// uncompared is the same of an object whose state may change.
func uncompared(e timeline.Event) timeline.Event {
	p := e.Payload.(timeline.ExtensionStateSeen)
	p.Uncompared = true
	e.Payload = p
	return e
}

func TestMigrationEnds_Unfinished_NamesWhatHangs(t *testing.T) {
	t.Parallel()
	state := func(seed, object, of, is, why string) timeline.Event {
		return by("observer", "alpha", timeline.ExtensionStateSeen{Seed: seed, Object: object, UID: "u", Error: why,
			Operation: timeline.Operation{Type: of, State: is}})
	}
	leaving, restoring := shoot("b", "a", "Migrate", "Error"), seen(shoot("b", "b", "Restore", "Processing"))
	leaving.Errors = []string{"the migration of Extension vault:\n  no quota"}
	gone := by("observer", "alpha", timeline.ExtensionStateSeen{Seed: "a", Object: "Network alpha", Gone: true})
	asked := func(e timeline.Event, operation string) timeline.Event {
		p := e.Payload.(timeline.ExtensionStateSeen)
		p.Asked = operation
		e.Payload = p
		return e
	}
	worker := vault("b", "w", "Restore", "Error", "")
	slow := worker.Payload.(timeline.ExtensionStateSeen)
	slow.Object, slow.Error, slow.Uncompared = "Worker alpha", "no machine\njoins", true
	check(t, oracle.MigrationEnds{}, map[string]row{
		"one fails and one does not end": {events: history(steady(0),
			state("a", "Extension vault", "Migrate", "Error", "no\nquota"),
			state("a", "Infrastructure alpha", "Create", "Succeeded", ""),
			state("a", "Network alpha", "Migrate", "Error", "old"), gone,
			state("a", "Network slow", "Migrate", "Processing", ""), seen(leaving), of("", timeline.RunEnded{})),
			want: "(Copying backups); Extension vault on seed a reports: no quota; Network slow on seed a is at Migrate " +
				"Processing; the Shoot's lastErrors: the migration of Extension vault: no quota"},
		"one gives no answer": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			state("a", "Extension vault", "Migrate", "Error", "old"), state("b", "Extension vault", "", "", ""), restoring,
			of("", timeline.RunEnded{})), want: "(Copying backups); Extension vault on seed b has no answer"},
		"one does not do what it is asked for": {events: history(steady(0),
			asked(state("a", "Extension deaf", "Create", "Succeeded", ""), "reconcile"),
			asked(state("a", "Extension deaf", "Create", "Succeeded", ""), "migrate"),
			asked(state("a", "Extension alert", "Create", "Succeeded", ""), "migrate"),
			state("a", "Extension alert", "Migrate", "Succeeded", ""), seen(shoot("b", "a", "Migrate", "Processing")),
			of("", timeline.RunEnded{})),
			want: "(Copying backups); Extension deaf on seed a was asked to migrate, and has not answered"},
		"one is not asked yet": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			asked(state("b", "Extension early", "", "", ""), "wait-for-state"), state("b", "Extension vault", "", "", ""),
			restoring, of("", timeline.RunEnded{})), want: "(Copying backups); Extension vault on seed b has no answer"},
		"one gives a long reason": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			state("b", "Extension vault", "Restore", "Error", strings.Repeat("x", 501)), restoring,
			of("", timeline.RunEnded{})),
			want: "Extension vault on seed b reports: " + strings.Repeat("x", 499) + "…"},
		"one whose state may change": {events: history(steady(0), seen(shoot("b", "a", "Migrate", "Processing")),
			by("observer", "alpha", slow), restoring, of("", timeline.RunEnded{})),
			want: "(Copying backups); Worker alpha on seed b reports: no machine joins"},
	})
}

func TestMigrationEnds_ThirdPartyExtension_KeepsItsState(t *testing.T) {
	t.Parallel()
	created, leaving, there := seen(shoot("a", "a", "Create", "Succeeded")),
		seen(shoot("b", "a", "Migrate", "Processing")), seen(shoot("b", "b", "Restore", "Succeeded"))
	made := vault("a", "u", "Create", "Succeeded", "1")
	gone := by("observer", "alpha", timeline.ExtensionStateSeen{Seed: "a", Object: "Extension vault", Gone: true})
	const changed, unseen = "Extension vault on seed b has another status.state than it had on seed a before the move",
		"the state of Extension vault of alpha after its move"
	check(t, oracle.MigrationEnds{}, map[string]row{
		"it comes along": {events: history(steady(0), created, made, leaving, gone, vault("b", "v", "", "", ""),
			there, vault("b", "v", "Restore", "Succeeded", "1"))},
		"it is forgotten": {events: history(steady(0), created, made, leaving, gone, there,
			vault("b", "v", "Restore", "Succeeded", "2")), want: changed},
		"it is lost": {events: history(steady(0), created, made, leaving, gone, there,
			vault("b", "v", "Restore", "Succeeded", "")), want: changed},
		"it is seen before the move": {events: history(steady(0), created, made, leaving, gone,
			vault("b", "v", "Restore", "Succeeded", "2"), there), want: changed},
		"it is changed where it is": {events: history(steady(0), created, made, vault("a", "u", "Reconcile", "Succeeded",
			"2"), leaving, gone, there, vault("b", "v", "Restore", "Succeeded", "2"))},
		"it is new in between": {events: history(steady(0), created, made, leaving, there,
			vault("b", "v", "Restore", "Processing", "2"), vault("b", "v", "Restore", "Succeeded", "1"))},
		"the old seed has another": {events: history(steady(0), created, made, leaving, there,
			vault("b", "v", "Restore", "Succeeded", "1"), vault("a", "u", "Reconcile", "Succeeded", "2"))},
		"the seed was rebuilt": {events: history(steady(0), created, made, gone,
			vault("a", "v", "Restore", "Succeeded", "2")),
			want: "Extension vault on seed a has another status.state than it had on seed a before the move"},
		"it goes with the shoot": {events: history(steady(0), created, made, seen(timeline.ShootSeen{Absent: true}),
			seen(shoot("b", "b", "Create", "Succeeded")), vault("b", "w", "Create", "Succeeded", "2"))},
		"it is gone while the shoot sleeps, and created again": {events: history(steady(0), created, made, gone,
			vault("a", "v", "", "", ""), vault("a", "v", "Create", "Succeeded", "2"),
			vault("a", "v", "Reconcile", "Succeeded", "2"), leaving, gone, there, vault("b", "w", "Restore", "Succeeded", "2"))},
		"it is created again and then forgotten": {events: history(steady(0), created, made, gone,
			vault("a", "v", "Create", "Succeeded", "2"), leaving, gone, there, vault("b", "w", "Restore", "Succeeded", "1")),
			want: changed},
		"it may be another": {events: history(steady(0), created, uncompared(made), leaving, there,
			uncompared(vault("b", "v", "Restore", "Succeeded", "2")))},
		"it is gone before the shoot leaves": {events: history(steady(0), created, made, gone, leaving, there)},
		"the restore creates it": {events: history(steady(0), created, made, leaving, gone, there,
			vault("b", "v", "Create", "Succeeded", "2")), lacks: unseen},
		"nobody looks after it": {events: history(steady(0), created, made, leaving, gone, there),
			lacks: unseen},
	})
}
