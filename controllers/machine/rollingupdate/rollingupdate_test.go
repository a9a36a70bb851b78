package rollingupdate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// TestPlan: what a rollout does next (pure).
func TestPlan(t *testing.T) {
	t.Parallel()
	rolling := func(surge, unavailable string) machinev1alpha1.MachineDeploymentStrategy {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		return machinev1alpha1.MachineDeploymentStrategy{
			Type: "RollingUpdate",
			RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{
				UpdateConfiguration: machinev1alpha1.UpdateConfiguration{MaxSurge: &s, MaxUnavailable: &u},
			},
		}
	}
	for _, test := range []struct {
		name     string
		replicas int32
		strategy machinev1alpha1.MachineDeploymentStrategy
		current  Size
		old      Size
		want     map[string]int32
	}{
		{"no old machines", 3, rolling("1", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 0, 0, 0, 0, 0},
			map[string]int32{"new": 3, "old": 0}},
		{"surge first", 3, rolling("1", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 3, 3, 3, 3, 0},
			map[string]int32{"new": 1, "old": 3}},
		{"not yet available", 3, rolling("1", "0"), Size{"new", 1, 1, 1, 0, 0}, Size{"old", 3, 3, 3, 3, 0},
			map[string]int32{"new": 1, "old": 3}},
		{"then shrink", 3, rolling("1", "0"), Size{"new", 1, 1, 1, 1, 0}, Size{"old", 3, 3, 3, 3, 0},
			map[string]int32{"new": 1, "old": 2}},
		{"a machine that goes still counts", 3, rolling("1", "0"), Size{"new", 1, 1, 1, 1, 0},
			Size{"old", 2, 3, 3, 2, 0}, map[string]int32{"new": 1, "old": 2}},
		{"unavailable first", 4, rolling("0", "25%"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 4, 4, 4, 4, 0},
			map[string]int32{"new": 0, "old": 3}},
		{"both zero still moves", 2, rolling("0", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 2, 2, 2, 2, 0},
			map[string]int32{"new": 0, "old": 1}},
		{"a failed one that is too many", 3, rolling("1", "0"), Size{"new", 2, 2, 2, 2, 0}, Size{"old", 1, 2, 2, 1, 1},
			map[string]int32{"new": 2, "old": 1}},
		{"failed ones go", 3, rolling("1", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 3, 3, 3, 1, 2},
			map[string]int32{"new": 1, "old": 1}},
		{"silent ones stay", 3, rolling("1", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 3, 3, 3, 0, 0},
			map[string]int32{"new": 1, "old": 3}},
		{"no machine is wanted, silent ones go", 0, rolling("1", "0"), Size{"new", 1, 1, 1, 1, 0},
			Size{"old", 2, 2, 2, 1, 0}, map[string]int32{"new": 0, "old": 0}},
		{"silent ones are not needed", 3, rolling("1", "0"), Size{"new", 3, 3, 3, 3, 0}, Size{"old", 1, 1, 1, 0, 0},
			map[string]int32{"new": 3, "old": 0}},
		{"the largest surge", 3, rolling("2147483647", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 2, 2, 2, 2, 0},
			map[string]int32{"new": 3, "old": 2}},
		{"the largest surge, one is there", 2, rolling("2147483647", "0"), Size{"new", 1, 1, 1, 1, 0},
			Size{"old", 1, 1, 1, 1, 0}, map[string]int32{"new": 2, "old": 1}},
		{"the largest share", 2, rolling("2147483647%", "0"), Size{"new", 0, 0, 0, 0, 0}, Size{"old", 2, 2, 2, 2, 0},
			map[string]int32{"new": 2, "old": 2}},
		{"recreate waits", 3, machinev1alpha1.MachineDeploymentStrategy{Type: "Recreate"},
			Size{"new", 0, 0, 0, 0, 0}, Size{"old", 3, 3, 3, 3, 0}, map[string]int32{"new": 0, "old": 0}},
	} {
		got := Plan(test.replicas, test.strategy, test.current, []Size{test.old})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
