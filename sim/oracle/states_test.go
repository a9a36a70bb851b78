package oracle_test

import (
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
		"it is gone before the shoot leaves": {events: history(steady(0), created, made, gone, leaving, there)},
		"the restore creates it": {events: history(steady(0), created, made, leaving, gone, there,
			vault("b", "v", "Create", "Succeeded", "2")), lacks: unseen},
		"nobody looks after it": {events: history(steady(0), created, made, leaving, gone, there),
			lacks: unseen},
	})
}
