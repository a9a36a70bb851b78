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
	released, onB := seen(shoot("b", "b", "Migrate", "Succeeded")), seen(shoot("b", "b", "Restore", "Succeeded"))
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
	moved := func(between ...timeline.Event) []timeline.Event {
		all := append([]timeline.Event{ready, inventory("before"), steady(0)}, between...)
		return history(append(all, inventory("after"))...)
	}
	check(t, oracle.NoOrphans{}, map[string]row{
		"WrittenByTheSeed": {events: moved(onA, migrating, released, look(
			written("statefulsets.apps", "etcd-main", "gardenlet", "kube-controller-manager"),
			written("leases.coordination.k8s.io", "machine-controller", "machine-controller"),
			written("endpoints", "etcd-main-client", "kube-controller-manager")), onB)},
		"WrittenByAnExtension": {
			events: moved(onA, migrating, released, look(written("configmaps", "cloud-provider-config", "acme")), onB),
			want:   "alpha: configmaps shoot--p--alpha/cloud-provider-config, written by acme, is left on a",
		},
		"WrittenByTheSeedAndMarkedByAnExtension": {
			events: moved(onA, migrating, released, look(written("secrets", "cloudprovider", "acme", "gardenlet")), onB),
		},
		"AppliedByTheResourceManagerOfTheSeed": {
			events: moved(onA, migrating, released, look(written("configmaps", "x", "resource-manager")), onB),
			want:   "configmaps shoot--p--alpha/x, written by resource-manager,",
		},
		"SecretOfAnExtensionWithToken": {
			events: moved(onA, migrating, released, look(written("secrets", "shoot-access-acme", "acme", "token-requestor")),
				onB),
			want: "secrets shoot--p--alpha/shoot-access-acme, written by acme, token-requestor,",
		},
		"SecretOfTheSeedWithToken": {events: moved(onA, migrating, released,
			look(written("secrets", "gardener-internal", "gardenlet", "token-requestor")), onB)},
		"WrittenByNobodyKnows": {events: moved(onA, migrating, released, look(written("configmaps", "x")), onB)},
		"SecretThatMoves":      {events: moved(onA, migrating, released, look(persisted), onB)},
		"SecretOfTheBackups": {events: moved(onA, migrating, released, look(written("secrets", "etcd-backup", "extensions")),
			onB)},
		"ConfigMapLabelledAsIfItMoved": {
			events: moved(onA, migrating, released, look(labelled), onB),
			want:   "configmaps shoot--p--alpha/token, written by acme,",
		},
		"LeaseOfALeaderThatHasEnded": {
			events: moved(onA, migrating, released, look(written("leases.coordination.k8s.io", "acme-csi", "acme-csi")), onB),
		},
		"MonitoringOfAnExtension": {
			events: moved(onA, migrating, released,
				look(written("scrapeconfigs.monitoring.coreos.com", "shoot-acme", "acme")), onB),
			want: "scrapeconfigs.monitoring.coreos.com shoot--p--alpha/shoot-acme, written by acme, is left on a",
		},
		"ServiceMonitorOfAnExtension": {
			events: moved(onA, migrating, released,
				look(written("servicemonitors.monitoring.coreos.com", "acme", "acme-helper")), onB),
			want: "servicemonitors.monitoring.coreos.com shoot--p--alpha/acme, written by acme-helper, is left on a",
		},
		"EventOfAnExtension": {events: moved(onA, migrating, released, look(written("events", "x", "acme")), onB)},
		"ExtensionObject": {
			events: moved(onA, migrating, released,
				look(written("networks.extensions.gardener.cloud", "alpha", "gardenlet")), onB),
			want: "networks.extensions.gardener.cloud shoot--p--alpha/alpha, it was to be deleted before, is left on a",
		},
		"Machine": {
			events: moved(onA, migrating, released,
				look(written("machines.machine.sapcloud.io", "m", "machine-controller")), onB),
			want: "machines.machine.sapcloud.io shoot--p--alpha/m, it was to be deleted before,",
		},
		"NobodyLooked":  {events: moved(onA, migrating, released, onB), lacks: lacks},
		"LookedTooLate": {events: moved(onA, migrating, released, blind, onB), lacks: lacks + ": namespace x"},
		"LookedWhenTheDestinationHadLeft": {
			events: moved(onA, migrating, released, leaving, onward, look(written("configmaps", "x", "acme")), lookAtB, onC),
			want:   "configmaps shoot--p--alpha/x",
		},
		"SourceIsLostWhenTheDestinationHasLeft": {
			events: moved(onA, migrating, released, leaving, onward, lookAtB, onC, lost, back), lacks: lacks,
		},
		"SourceIsLost":           {events: moved(onA, migrating, released, lost, onB, back)},
		"SourceWasLostBefore":    {events: moved(onA, lost, back, migrating, released, onB), lacks: lacks},
		"SourceIsLostAfterwards": {events: moved(onA, migrating, released, onB, lost, back), lacks: lacks},
		"DestinationIsLost":      {events: moved(onA, migrating, released, other, onB), lacks: lacks},
		"ForcedMove":             {events: moved(onA, aborted, forced, onB)},
		"BoundBackToItsSource":   {events: moved(onA, migrating, backOnA, onA)},
		"LetGoIsSeenTwice": {
			events: moved(onA, migrating, released, look(written("configmaps", "x", "acme")), released, onB),
			want:   "configmaps shoot--p--alpha/x",
		},
	})
}
