package e2e

import (
	"strings"
	"testing"
	"time"
)

// Kinds whose objects are looked at: of each there is one at least.
var (
	gardenKinds = []string{
		"seeds.core.gardener.cloud", "backupbuckets.core.gardener.cloud", "backupentries.core.gardener.cloud",
		"cloudprofiles.core.gardener.cloud", "projects.core.gardener.cloud",
	}
	// lastingKinds are there while a shoot sleeps, too; its records are not.
	lastingKinds = []string{
		"infrastructures.extensions.gardener.cloud", "workers.extensions.gardener.cloud",
		"networks.extensions.gardener.cloud",
		"controlplanes.extensions.gardener.cloud",
		"operatingsystemconfigs.extensions.gardener.cloud", "backupentries.extensions.gardener.cloud",
		"managedresources.resources.gardener.cloud",
	}
	seedKinds = append([]string{"dnsrecords.extensions.gardener.cloud"}, lastingKinds...)
)

// unmodelled is an object, and what it has in a field that our types do not know.
type unmodelled struct {
	uid, namespace, name, field string
}

func (l *landscape) unmodelled(t *testing.T, cluster, kind string) []unmodelled {
	t.Helper()
	const row = `jsonpath={range .items[*]}{.metadata.uid},{.metadata.namespace},{.metadata.name},` +
		`{.spec.futureField}{"\n"}{end}`
	var found []unmodelled
	for line := range strings.Lines(l.on(t, cluster, "get", kind, "-A", "-o", row)) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if len(cells) != 4 {
			t.Fatalf("%s on %s: %q", kind, cluster, line)
		}
		found = append(found, unmodelled{cells[0], cells[1], cells[2], cells[3]})
	}
	return found
}

// marks gives every object of the kinds a field that our types do not know.
func (l *landscape) marks(t *testing.T, cluster string, kinds []string) {
	t.Helper()
	for _, kind := range kinds {
		found := l.unmodelled(t, cluster, kind)
		if len(found) == 0 {
			t.Errorf("there are no %s on %s", kind, cluster)
		}
		for _, object := range found {
			args := []string{"patch", kind, object.name, "--type=merge", "-p", `{"spec":{"futureField":"kept"}}`}
			if object.namespace != "" {
				args = append(args, "-n", object.namespace)
			}
			l.on(t, cluster, args...)
			l.marked[object.uid] = true
		}
	}
}

// keep: the objects that were marked, and are there, have the field still.
func (l *landscape) keep(t *testing.T, cluster string, kinds []string, after string) {
	t.Helper()
	for _, kind := range kinds {
		kept := 0
		for _, object := range l.unmodelled(t, cluster, kind) {
			if !l.marked[object.uid] {
				continue // made since, as by hibernation
			}
			kept++
			if object.field != "kept" {
				t.Errorf("on %s the unmodelled field of %s %s is %q after %s", cluster, kind, object.name, object.field, after)
			}
		}
		if kept == 0 {
			t.Errorf("on %s none of the %s that were marked is left after %s", cluster, kind, after)
		}
	}
}

// keepsUnmodelledFields: what our types do not know survives the flows, in the garden and on the seed.
func (l *landscape) keepsUnmodelledFields(t *testing.T, seed string) {
	t.Helper()
	l.shootKeeps(t, "on seed "+seed)
	if got := l.on(t, seed, "get", "cluster.extensions.gardener.cloud", "shoot--p--alpha", "-o",
		"jsonpath={.spec.shoot.spec.futureField.deep[1].er}"); got != "2" {
		t.Errorf("on seed %s the Cluster's unmodelled field is %q", seed, got)
	}
	l.marks(t, seed, seedKinds)
	before := l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha", "-o",
		"jsonpath={.status.lastOperation.lastUpdateTime}")
	l.on(t, "garden", "annotate", "shoot", "-n", "garden-p", "alpha", "gardener.cloud/operation=reconcile")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		state := l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha", "-o",
			"jsonpath={.status.lastOperation.type}/{.status.lastOperation.state}")
		if state == "Reconcile/Succeeded" && before != l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha", "-o",
			"jsonpath={.status.lastOperation.lastUpdateTime}") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the reconciliation has not ended: %s", state)
		}
	}
	l.keep(t, seed, seedKinds, "a reconciliation")
}

// shootKeeps what our types do not know of the Shoot.
func (l *landscape) shootKeeps(t *testing.T, when string) {
	t.Helper()
	const path = `jsonpath={.spec.futureField.deep[1].er} {.spec.kubernetes.futureSetting}`
	if got := l.on(t, "garden", "get", "shoot", "-n", "garden-p", "alpha", "-o", path); got != "2 kept" {
		t.Errorf("%s the shoot's unmodelled fields are %q", when, got)
	}
}
