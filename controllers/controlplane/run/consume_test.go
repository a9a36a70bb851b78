package run

import (
	"testing"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// A run takes off the tasks that it has found. What is added while it runs, as by a maintenance, is for the next one.
func TestConsume_TasksAddedMeanwhile_Stay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, meanwhile, left string }{
		"all": {"deployInfrastructure,deployDNSRecordInternal",
			"deployInfrastructure,deployDNSRecordInternal", ""},
		"a restart is asked for again": {"deployInfrastructure,restartCoreAddons", "deployInfrastructure,restartCoreAddons",
			"restartCoreAddons"},
		"one is done already": {"deployInfrastructure,restartCoreAddons", "deployInfrastructure", ""},
		"one is added": {"deployInfrastructure", "deployInfrastructure,restartControlPlanePods",
			"restartControlPlanePods"},
		"all are added": {"", "restartControlPlanePods,restartCoreAddons",
			"restartControlPlanePods,restartCoreAddons"},
		"nothing is there to end": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			controlplanetest.ListTasks(t, o.Scope, c.before)
			atStart := o.Shoot
			controlplanetest.ListTasks(t, o.Scope, c.meanwhile)
			o.Shoot = atStart
			if err := o.consume(t.Context(), []string{"shoot.gardener.cloud/skip-readiness",
				"shoot.gardener.cloud/tasks"}); err != nil {
				t.Fatal(err)
			}
			if left := inGarden(t, o).Annotations["shoot.gardener.cloud/tasks"]; left != c.left {
				t.Errorf("left is %q, want %q", left, c.left)
			}
		})
	}
}
