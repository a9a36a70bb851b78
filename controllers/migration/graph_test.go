package migration

import (
	"slices"
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// The order of docs/specification/migration.md#spec-2-6: which task may not begin before which have ended, and why.
func TestTheOrderOfAMigration(t *testing.T) {
	t.Parallel()
	shoot := withWorkers(shootOn("b", "a", "Migrate", "Processing"))
	enabled := true
	shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &enabled}
	here := tenure.Tenure{Etcd: tenure.Etcd{Exists: true}}
	graph := (&migrate{Operation: controlplane.New(&scope.Scope{Shoot: shoot}), here: here, api: true,
		owned: true}).graph()

	const (
		awake     = "Scaling Kubernetes API Server up and waiting until ready"
		granted   = "Granting access to Shoot"
		manager   = "Deploying gardener-resource-manager"
		resources = "Deleting all Managed Resources from the Shoot's namespace"
		machines  = "Deleting machine-controller-manager"
		stale     = "Deleting stale extensions"
		runtimes  = "Deleting stale container runtime resources"
		early     = "Migrating extension resources"
		guards    = "Migrating extensions before kube-apiserver"
		saved     = "Persisting ShootState in garden cluster"
		removed   = "Deleting extension resources from the Shoot namespace"
		shallow   = "Shallow-deleting machine resources from the Shoot namespace"
		guardsOff = "Deleting extensions before kube-apiserver"
		plane     = "Migrating shoot control plane"
		bastions  = "Deleting Bastions"
		left      = "Waiting until shoot managed resources have been deleted"
		stopped   = "Deleting kube-apiserver deployment"
		late      = "Migrating shoot infrastructure and DNS records"
		outer     = "Migrating extensions after kube-apiserver"
		again     = "Persisting late state in garden cluster"
		cleared   = "Deleting infrastructure and DNS records from the Shoot namespace"
		outerOff  = "Deleting extensions after kube-apiserver"
		final     = "Creating final ETCD snapshot and ending the ownership epoch"
		handed    = "Migrating BackupEntry to new seed"
		rest      = "Stopping main etcd"
	)
	for _, c := range []struct {
		task  flow.TaskID
		after []flow.TaskID
		why   string
	}{
		{granted, []flow.TaskID{awake}, "it works on the shoot's API server"},
		{manager, []flow.TaskID{granted}, "without its role it takes nothing off the shoot"},
		{manager, []flow.TaskID{awake}, "it works on the shoot's API server"},
		{resources, []flow.TaskID{manager}, "nobody else takes their objects off the shoot"},
		{machines, []flow.TaskID{resources}, "step 13 comes after 12"},
		{stale, []flow.TaskID{manager}, "an extension takes its objects off the shoot"},
		{runtimes, []flow.TaskID{manager}, "an extension takes its objects off the shoot"},
		{early, []flow.TaskID{stale, runtimes}, "what is released cannot be deleted for good any more"},
		{early, []flow.TaskID{machines}, "a machine controller that runs makes machines that no state knows"},
		{guards, []flow.TaskID{resources, stale}, "step 17 comes after 12; nothing released can be deleted for good"},
		{saved, []flow.TaskID{early, guards}, "what extensions write when they release objects is state"},
		{removed, []flow.TaskID{saved}, "what is deleted cannot be saved"},
		{shallow, []flow.TaskID{saved, machines}, "what is deleted cannot be saved"},
		{guardsOff, []flow.TaskID{removed, saved, guards}, "step 24 comes after 21 and 18; what is deleted cannot be saved"},
		{plane, []flow.TaskID{removed, shallow, guardsOff}, "step 28 comes after 21 and 25"},
		{bastions, []flow.TaskID{plane}, "the later, the fewer come after it"},
		{left, []flow.TaskID{plane}, "those of extensions go with the ControlPlane"},
		{stopped, []flow.TaskID{left, early, guards}, "extensions release objects while there is an API server"},
		{stopped, []flow.TaskID{bastions}, "without an API server nobody looks for Bastions any more"},
		{late, []flow.TaskID{stopped},
			"39, 44, 45: after 33; the infrastructure serves the API server, and its names lead to it"},
		{outer, []flow.TaskID{stopped}, "step 34 comes after 33"},
		{again, []flow.TaskID{late, outer}, "extensions write state while they release objects"},
		{outerOff, []flow.TaskID{again}, "what is deleted cannot be saved"},
		{cleared, []flow.TaskID{again}, "what is deleted cannot be saved"},
		{final, []flow.TaskID{stopped, saved}, "nobody writes after the final snapshot"},
		{handed, []flow.TaskID{final, cleared, shallow, removed, guardsOff, outerOff},
			"from then on the destination may begin"},
		{rest, []flow.TaskID{handed}, "until then its guard may have to answer"},
	} {
		before := graph.Before(c.task)
		for _, earlier := range c.after {
			if !slices.Contains(before, earlier) {
				t.Errorf("%q must come after %q (%s); it comes after %q", c.task, earlier, c.why, before)
			}
		}
	}
	if got := len(graph.Tasks()); got != 25 {
		t.Errorf("the graph has %d tasks, and this table 25: %q", got, graph.Tasks())
	}
	// The snapshot is on the way of the users who wait: the clouds of the infrastructure are not
	// (docs/specification/migration.md#spec-2-6).
	if before := graph.Before(final); slices.Contains(before, flow.TaskID(late)) || slices.Contains(before,
		flow.TaskID(outer)) {
		t.Errorf("the final snapshot waits for the infrastructure: it comes after %q", before)
	}
}
