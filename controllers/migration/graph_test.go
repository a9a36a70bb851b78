package migration

import (
	"slices"
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// The order of SPEC 2.6: which task may not begin before which have ended, and why.
func TestTheOrderOfAMigration(t *testing.T) {
	t.Parallel()
	shoot := withWorkers(shootOn("b", "a", "Migrate", "Processing"))
	enabled := true
	shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: &enabled}
	graph := (&migrate{Operation: &controlplane.Operation{Shoot: shoot}, etcd: true, api: true, owned: true}).graph()

	const (
		awake     = "Scaling Kubernetes API Server up and waiting until ready"
		manager   = "Deploying gardener-resource-manager"
		resources = "Deleting all Managed Resources from the Shoot's namespace"
		machines  = "Deleting machine-controller-manager"
		stale     = "Deleting stale extensions"
		runtimes  = "Deleting stale container runtime resources"
		early     = "Migrating extension resources"
		saved     = "Persisting ShootState in garden cluster"
		removed   = "Deleting extension resources from the Shoot namespace"
		shallow   = "Shallow-deleting machine resources from the Shoot namespace"
		plane     = "Migrating shoot control plane"
		left      = "Waiting until shoot managed resources have been deleted"
		stopped   = "Deleting kube-apiserver deployment"
		late      = "Migrating shoot infrastructure and DNS records"
		again     = "Persisting late state in garden cluster"
		cleared   = "Deleting infrastructure and DNS records from the Shoot namespace"
		final     = "Creating final ETCD snapshot and ending the ownership epoch"
		handed    = "Migrating BackupEntry to new seed"
		rest      = "Stopping main etcd"
	)
	for _, c := range []struct {
		task  flow.TaskID
		after []flow.TaskID
		why   string
	}{
		{manager, []flow.TaskID{awake}, "it works on the shoot's API server"},
		{resources, []flow.TaskID{manager}, "nobody else takes their objects off the shoot"},
		{machines, []flow.TaskID{resources}, "step 13 comes after 12"},
		{stale, []flow.TaskID{manager}, "an extension takes its objects off the shoot"},
		{runtimes, []flow.TaskID{manager}, "an extension takes its objects off the shoot"},
		{early, []flow.TaskID{stale, runtimes}, "what let go cannot be deleted for good any more"},
		{early, []flow.TaskID{machines}, "a machine controller that runs makes machines that no state knows"},
		{saved, []flow.TaskID{early}, "what extensions write when they let go is state"},
		{removed, []flow.TaskID{saved}, "what is deleted cannot be saved"},
		{shallow, []flow.TaskID{saved, machines}, "what is deleted cannot be saved"},
		{plane, []flow.TaskID{removed, shallow}, "step 28 comes after 21"},
		{left, []flow.TaskID{plane}, "those of extensions go with the ControlPlane"},
		{stopped, []flow.TaskID{left, early}, "extensions let go while there is an API server"},
		{late, []flow.TaskID{stopped}, "the infrastructure serves the API server"},
		{again, []flow.TaskID{late}, "QUIRK-M1"},
		{cleared, []flow.TaskID{again}, "what is deleted cannot be saved"},
		{final, []flow.TaskID{stopped, saved}, "CPM-6: nobody writes after the final snapshot"},
		{handed, []flow.TaskID{final, cleared, shallow, removed}, "from then on the destination may begin"},
		{rest, []flow.TaskID{handed}, "until then its guard may have to answer"},
	} {
		before := graph.Before(c.task)
		for _, earlier := range c.after {
			if !slices.Contains(before, earlier) {
				t.Errorf("%q must come after %q (%s); it comes after %q", c.task, earlier, c.why, before)
			}
		}
	}
	if got := len(graph.Tasks()); got != 19 {
		t.Errorf("the graph has %d tasks, and this table 19: %q", got, graph.Tasks())
	}
	// The snapshot is on the way of the users who wait: the clouds of the infrastructure are not (SPEC 2.6).
	if before := graph.Before(final); slices.Contains(before, flow.TaskID(late)) {
		t.Errorf("the final snapshot waits for the infrastructure: it comes after %q", before)
	}
}
