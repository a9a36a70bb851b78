package fault_test

import (
	"testing"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/world"
)

// To harm a program of a cluster is an ability of its own.
func TestAbilityForProcesses(t *testing.T) {
	t.Parallel()
	program, actor := fault.Process{Cluster: "a", Program: "etcd"}, fault.Process{Actor: "gardenlet-a"}
	for _, c := range []struct {
		fault fault.Fault
		want  world.Ability
	}{
		{&fault.Kill{Process: program}, world.BreakPrograms},
		{&fault.Kill{Process: actor}, world.BreakProcesses},
		{&fault.Kill{Process: fault.Process{Shoot: "alpha", Program: "etcd"}}, world.BreakProcesses},
		{&fault.Freeze{Process: program}, world.BreakPrograms},
		{&fault.Freeze{Process: actor}, world.BreakProcesses},
		{&fault.Crash{}, world.CrashActors},
		{&fault.Crash{Victim: &program}, world.BreakPrograms},
	} {
		if got := c.fault.Traits().Ability; got != c.want {
			t.Errorf("%s needs to %s, want %s", c.fault.Name(), got, c.want)
		}
	}
}
