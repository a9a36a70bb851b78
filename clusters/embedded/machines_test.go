package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
)

// node is what a process node looks like from outside: it has a child, which has arguments of its own.
const node = `#!/bin/sh
sleep 1000 &
wait
`

// hostedOnMachines is a cluster without processes of its own, beside an extra that runs a node on each disk.
func hostedOnMachines(t *testing.T, script string) *Cluster {
	t.Helper()
	folder := t.TempDir()
	parent := "#!/bin/sh\ncd " + folder + "\n" + script + "wait\n"
	for name, content := range map[string]string{"node": node, "nodes": parent} {
		if err := executabletest.Write(filepath.Join(folder, name), []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	runner := process.NewRunner()
	extra, err := runner.Start(process.Spec{Name: "nodes", Path: filepath.Join(folder, "nodes"), Dir: folder,
		Log: filepath.Join(folder, "log"), Env: program.Env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		below, err := process.Descendants(extra.PID())
		errs := []error{err, extra.Kill()}
		for _, id := range below {
			errs = append(errs, id.Kill(time.Minute))
		}
		if err := errors.Join(append(errs, runner.Close())...); err != nil {
			t.Error(err)
		}
	})
	l := &Landscape{dir: rundir.At("test", t.TempDir())}
	l.extras = &Extras{landscape: l, processes: []*process.Process{extra}}
	c := &Cluster{name: "a", plan: mustPlan(t, 2), landscape: l, processes: map[string]*process.Process{}}
	c.api.Hosted = Hosted{Host: "api.a", OnMachines: true}
	return c
}

// mustPlan is that of the n-th cluster.
func mustPlan(t *testing.T, n int) address.Cluster {
	t.Helper()
	plan, err := address.Slot(0).Cluster(n)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// disks of the machines that run now, below the folder of the test.
func disks(t *testing.T, c *Cluster) (names []string) {
	t.Helper()
	found, err := machinesOf(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		names = append(names, filepath.Base(m.disk))
	}
	slices.Sort(names)
	return names
}

// The machines of a seed are those whose pods have its addresses. One that is switched off takes along what runs on it.
func TestMachinesOf_SwitchedOff_NothingRunsOnThem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, disk := range []string{"m-1", "m-2", "m-3"} {
		if err := os.MkdirAll(filepath.Join(root, disk, "var/lib/kubelet/pods/x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := hostedOnMachines(t, "./node "+program.FlagMachine+root+"/m-1 "+program.FlagPods+"127.19.64.0/24 &\n"+
		"./node "+program.FlagMachine+root+"/m-2 "+program.FlagPods+"127.19.65.0/24 &\n"+
		"./node "+program.FlagMachine+root+"/m-3 "+program.FlagPods+"127.20.64.0/24 &\n") // of another cluster
	deadline := time.Now().Add(time.Minute)
	names := disks(t, c)
	for running := 0; !slices.Equal(names, []string{"m-1", "m-2"}) || running < 2; names = disks(t, c) {
		programs, err := c.Containers(t.Context())
		if running = len(programs); err != nil || time.Now().After(deadline) {
			t.Fatalf("got %v with %d programs on them, %v", names, running, err)
		}
	}
	if folders, err := c.PodFolders(t.Context()); err != nil || len(folders) != 2 {
		t.Errorf("got the folders %v of pods, %v", folders, err)
	}

	if err := switchOff(c, true); err != nil {
		t.Fatal(err)
	}
	if names = disks(t, c); len(names) > 0 {
		t.Errorf("%v run without power", names)
	}
	nodes := c.landscape.dir.Join(program.NodesFolder)
	if mine, other := program.PowerOf(nodes, c.plan.Range()), program.PowerOf(nodes, mustPlan(t, 3).Range()); mine !=
		program.PowerOff || other != program.PowerOn {
		t.Errorf("the power is %q, that of another cluster %q", mine, other)
	}
	for disk, want := range map[string]bool{"m-1": true, "m-2": true, "m-3": false} {
		if _, kept := os.Stat(filepath.Join(root, disk, kubeletFolder, "pods")); (kept != nil) != want {
			t.Errorf("%s: its pods: %v", disk, kept)
		}
	}
	if err := setPower(c, program.PowerOn); err != nil || program.PowerOf(nodes, c.plan.Range()) != program.PowerOn {
		t.Errorf("the power stays off: %v", err)
	}
}

// What runs on frozen machines stands still, and nobody else does.
func TestFreezeMachines_WhatRunsOnThem_StandsStill(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := hostedOnMachines(t, "./node "+program.FlagMachine+root+"/m-1 "+program.FlagPods+"127.19.64.0/24 &\n")
	deadline := time.Now().Add(time.Minute)
	for programs := 0; programs < 1; {
		all, err := c.Containers(t.Context())
		if programs = len(all); err != nil || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	stopped, err := freezeMachines(c)
	if err != nil || len(stopped) != 2 {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	for _, id := range stopped {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
		if err != nil || !strings.Contains(string(content), ") T ") {
			t.Errorf("%s, %v", content, err)
		}
		if err := id.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	if power := program.PowerOf(c.landscape.dir.Join(program.NodesFolder), c.plan.Range()); power != program.PowerFrozen {
		t.Errorf("the power is %q", power)
	}
}

// While a cluster is lost, faults that freeze and thaw it leave the power off. Whoever has given up meanwhile changes
// nothing.
func TestLose_ClusterOnMachines_PowerStaysOffUntilItReturns(t *testing.T) {
	t.Parallel()
	c := hostedOnMachines(t, "sleep 1000 &\n")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	isLost := func(context.Context) error { return c.Lose(t.Context(), false) }
	for _, step := range []struct {
		name   string
		do     func(context.Context) error
		ctx    context.Context
		outage rundir.Outage
		power  program.Power
	}{
		{"freeze", c.Freeze, t.Context(), rundir.Frozen, program.PowerFrozen},
		{"thaw too late", c.Thaw, gone, rundir.Frozen, program.PowerFrozen},
		{"thaw", c.Thaw, t.Context(), "", program.PowerOn},
		{"freeze too late", c.Freeze, gone, "", program.PowerOn},
		{"lose", isLost, t.Context(), rundir.Lost, program.PowerOff},
		{"freeze the lost one", c.Freeze, t.Context(), rundir.Lost, program.PowerOff},
		{"thaw the lost one", c.Thaw, t.Context(), rundir.Lost, program.PowerOff},
		{"return too late", c.Return, gone, rundir.Lost, program.PowerOff},
		{"return the lost one", c.Return, t.Context(), "", program.PowerOn},
	} {
		if err := step.do(step.ctx); !errors.Is(err, step.ctx.Err()) {
			t.Errorf("%s: %v", step.name, err)
		}
		power := program.PowerOf(c.landscape.dir.Join(program.NodesFolder), c.plan.Range())
		if c.Outage() != step.outage || power != step.power {
			t.Errorf("%s: the outage is %q, want %q; the power is %q, want %q",
				step.name, c.Outage(), step.outage, power, step.power)
		}
	}
}
