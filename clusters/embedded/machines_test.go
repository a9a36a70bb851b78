package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
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
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
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
	plan, err := address.Slot(0).Cluster(2)
	if err != nil {
		t.Fatal(err)
	}
	l := &Landscape{}
	l.extras = &Extras{landscape: l, processes: []*process.Process{extra}}
	c := &Cluster{name: "a", plan: plan, landscape: l, processes: map[string]*process.Process{}}
	c.api.Hosted = Hosted{Host: "api.a", OnMachines: true}
	return c
}

// disks of the machines that run now, below the folder of the test.
func disks(t *testing.T, c *Cluster) (names []string, found []machine) {
	t.Helper()
	found, err := machinesOf(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		names = append(names, filepath.Base(m.disk))
	}
	slices.Sort(names)
	return names, found
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
	c := hostedOnMachines(t, "./node --machine="+root+"/m-1 --pod-cidr=127.19.64.0/24 &\n"+
		"./node --machine="+root+"/m-2 --pod-cidr=127.19.65.0/24 &\n"+
		"./node --machine="+root+"/m-3 --pod-cidr=127.20.64.0/24 &\n") // of another cluster
	deadline := time.Now().Add(time.Minute)
	names, found := disks(t, c)
	for running := 0; !slices.Equal(names, []string{"m-1", "m-2"}) || running < 2; names, found = disks(t, c) {
		programs, err := c.Containers(t.Context())
		if running = len(programs); err != nil || time.Now().After(deadline) {
			t.Fatalf("got %v with %d programs on them, %v", names, running, err)
		}
	}
	if folders, err := c.PodFolders(t.Context()); err != nil || len(folders) != 2 {
		t.Errorf("got the folders %v of pods, %v", folders, err)
	}

	if err := switchOff(found, true); err != nil {
		t.Fatal(err)
	}
	if names, _ = disks(t, c); len(names) > 0 {
		t.Errorf("%v run without power", names)
	}
	for disk, want := range map[string]bool{"m-1": true, "m-2": true, "m-3": false} {
		_, off := os.Stat(filepath.Join(root, disk, program.PowerOff))
		_, kept := os.Stat(filepath.Join(root, disk, "var/lib/kubelet/pods"))
		if (off == nil) != want || (kept != nil) != want {
			t.Errorf("%s: power-off: %v, its pods: %v", disk, off, kept)
		}
	}
	if err := os.RemoveAll(found[0].disk); err != nil { // replaced meanwhile
		t.Fatal(err)
	}
	if err := switchOn(found); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(found[1].disk, program.PowerOff)); err == nil {
		t.Error("a machine is still off")
	}
}
