package oracle_test

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

func TestNoOrphans_HandOver(t *testing.T) {
	t.Parallel()
	ready := of("", timeline.LandscapeReady{Seeds: []string{"a"}})
	onA, migrating := seen(shoot("a", "a", "Create", "Succeeded")), seen(shoot("b", "a", "Migrate", "Processing"))
	letGo, onB := seen(shoot("b", "b", "Migrate", "Succeeded")), seen(shoot("b", "b", "Restore", "Succeeded"))
	leaving, onward := seen(shoot("c", "b", "Migrate", "Processing")), seen(shoot("c", "c", "Migrate", "Succeeded"))
	lookAtB := of("b", timeline.InventorySeen{When: timeline.Left, Shoot: "alpha"})
	onC := seen(shoot("c", "c", "Restore", "Succeeded"))
	aborted, forced := seen(shoot("b", "b", "Migrate", "Aborted")), seen(shoot("b", "b", "Restore", "Processing"))
	backOnA := seen(shoot("a", "a", "Migrate", "Succeeded"))
	look := func(items ...timeline.Item) timeline.Event {
		return of("a", timeline.InventorySeen{When: timeline.Left, Shoot: "alpha", Items: items})
	}
	blind := of("a", timeline.InventorySeen{When: timeline.Left, Shoot: "alpha", Unreadable: []string{"namespace x"}})
	written := func(class, name string, managers ...string) timeline.Item {
		return timeline.Item{Class: class, Namespace: id, Name: name, Managers: managers}
	}
	persisted := written("secrets", "token", "acme")
	persisted.Persisted = true
	labelled := persisted
	labelled.Class = "configmaps"
	lost := by("operator", "fire", timeline.FaultInjected{Fault: "loseCluster(a)", Clusters: []string{"a"}})
	other := by("operator", "fire", timeline.FaultInjected{Fault: "loseCluster(b)", Clusters: []string{"b"}})
	back := by("operator", "fire", timeline.FaultHealed{Fault: "loseCluster(a)"})
	const lacks = "what was left of alpha on a when it had let the shoot go"
	story := func(between ...timeline.Event) []timeline.Event {
		all := append([]timeline.Event{ready, inventory("before"), steady(0)}, between...)
		return history(append(all, inventory("after"))...)
	}
	check(t, oracle.NoOrphans{}, map[string]row{
		"WrittenByTheSeed": {events: story(onA, migrating, letGo, look(
			written("statefulsets.apps", "etcd-main", "gardenlet", "kube-controller-manager"),
			written("leases.coordination.k8s.io", "machine-controller", "machine-controller"),
			written("endpoints", "etcd-main-client", "kube-controller-manager")), onB)},
		"WrittenByAnExtension": {
			events: story(onA, migrating, letGo, look(written("configmaps", "cloud-provider-config", "acme")), onB),
			want:   "alpha: configmaps shoot--p--alpha/cloud-provider-config, written by acme, is left on a",
		},
		"WrittenByTheSeedAndMarkedByAnExtension": {
			events: story(onA, migrating, letGo, look(written("secrets", "cloudprovider", "acme", "gardenlet")), onB),
		},
		"WrittenByNobodyKnows": {events: story(onA, migrating, letGo, look(written("configmaps", "x")), onB)},
		"SecretThatMoves":      {events: story(onA, migrating, letGo, look(persisted), onB)},
		"SecretOfTheBackups": {events: story(onA, migrating, letGo, look(written("secrets", "etcd-backup", "extensions")),
			onB)},
		"ConfigMapLabelledAsIfItMoved": {
			events: story(onA, migrating, letGo, look(labelled), onB),
			want:   "configmaps shoot--p--alpha/token, written by acme,",
		},
		"EventOfAnExtension": {events: story(onA, migrating, letGo, look(written("events", "x", "acme")), onB)},
		"ExtensionObject": {
			events: story(onA, migrating, letGo, look(written("networks.extensions.gardener.cloud", "alpha", "gardenlet")), onB),
			want:   "networks.extensions.gardener.cloud shoot--p--alpha/alpha, it was to be deleted before, is left on a",
		},
		"Machine": {
			events: story(onA, migrating, letGo, look(written("machines.machine.sapcloud.io", "m", "machine-controller")), onB),
			want:   "machines.machine.sapcloud.io shoot--p--alpha/m, it was to be deleted before,",
		},
		"NobodyLooked":  {events: story(onA, migrating, letGo, onB), lacks: lacks},
		"LookedTooLate": {events: story(onA, migrating, letGo, blind, onB), lacks: lacks + ": namespace x"},
		"LookedWhenTheDestinationHadLeft": {
			events: story(onA, migrating, letGo, leaving, onward, look(written("configmaps", "x", "acme")), lookAtB, onC),
			want:   "configmaps shoot--p--alpha/x",
		},
		"SourceIsLostWhenTheDestinationHasLeft": {
			events: story(onA, migrating, letGo, leaving, onward, lookAtB, onC, lost, back), lacks: lacks,
		},
		"SourceIsLost":           {events: story(onA, migrating, letGo, lost, onB, back)},
		"SourceWasLostBefore":    {events: story(onA, lost, back, migrating, letGo, onB), lacks: lacks},
		"SourceIsLostAfterwards": {events: story(onA, migrating, letGo, onB, lost, back), lacks: lacks},
		"DestinationIsLost":      {events: story(onA, migrating, letGo, other, onB), lacks: lacks},
		"ForcedMove":             {events: story(onA, aborted, forced, onB)},
		"BoundBackToItsSource":   {events: story(onA, migrating, backOnA, onA)},
		"LetGoIsSeenTwice": {
			events: story(onA, migrating, letGo, look(written("configmaps", "x", "acme")), letGo, onB),
			want:   "configmaps shoot--p--alpha/x",
		},
	})
}
