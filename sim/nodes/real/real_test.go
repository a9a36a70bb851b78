package real

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
)

// flags are read as the harness gives them.
func flags(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	o, set := &Options{}, pflag.NewFlagSet("nodes", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	o.AddFlags(set)
	err := set.Parse(args)
	if err == nil {
		err = o.Complete(t.TempDir())
	}
	return o, err
}

func TestFlags(t *testing.T) {
	t.Parallel()
	o, err := flags(t, "--pods-run=shoot--p--alpha=127.23.0.0/16", "--dns-server=127.16.0.3:5353",
		"--image=transplant.dev/work:dev=/work")
	if err != nil {
		t.Fatal(err)
	}
	if plan := o.Networks["shoot--p--alpha"]; plan.Pods.String() != "127.23.64.0/18" || o.Resolve == nil ||
		!slices.Contains(o.Images, "transplant.dev/work:dev=/work") || len(o.Images) != len(standIns) {
		t.Errorf("got %+v", o)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no range":      {[]string{"--pods-run=alpha"}, "is not SHOOT=RANGE"},
		"another range": {[]string{"--pods-run=alpha=10.0.0.0/16"}, "no /16 of 127.0.0.0/8"},
		"a part":        {[]string{"--pods-run=alpha=127.23.0.0/17"}, "no /16 of 127.0.0.0/8"},
		"no DNS":        {[]string{"--pods-run=alpha=127.23.0.0/16"}, "--pods-run needs --dns-server"},
	} {
		if _, err := flags(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

const config = `apiVersion: v1
kind: Config
clusters: [{name: shoot, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: shoot, context: {cluster: shoot}}]
current-context: shoot
`

// world is one shoot whose kubelets are a program that waits.
type world struct {
	*Shoot
	folder string
}

// newWorld has the range of addresses for itself, behind those of landscapes.
func newWorld(t *testing.T, addresses string) *world {
	t.Helper()
	w := &world{folder: t.TempDir()}
	program := filepath.Join(w.folder, "kubelet")
	if err := executabletest.Write(program, []byte("#!/bin/sh\nexec sleep 1000\n")); err != nil {
		t.Fatal(err)
	}
	o, err := flags(t, "--pods-run=alpha="+addresses, "--dns-server=127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	o.Executable = program
	runner := process.NewRunner()
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Shoot = NewShoot("alpha", *o, runner, w.folder, clock.RealClock{}, logr.Discard())
	t.Cleanup(func() {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) machine(id, address, boot string) Machine {
	return Machine{ID: id, Node: "node-" + id, Address: address, Boot: boot, Disk: filepath.Join(w.folder, id),
		ClientCA: []byte("a CA")}
}

func (w *world) keep(t *testing.T, machines ...Machine) {
	t.Helper()
	if err := w.Keep(machines, Access{Server: "https://api.alpha.test:9443", Kubeconfig: config}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) pid(machine string) int {
	if running := w.kubelets.running[machine]; running != nil && running.process.Running() {
		return running.process.PID()
	}
	return 0
}

func (w *world) pods(t *testing.T, machine string) string {
	t.Helper()
	for _, argument := range w.kubelets.running[machine].process.Spec().Args {
		if given, is := strings.CutPrefix(argument, "--pod-cidr="); is {
			return given
		}
	}
	return ""
}

// A kubelet lives as long as its machine: not longer, and not over a reboot.
func TestKeep_KubeletsFollowTheirMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.240.0.0/16")
	one, two := w.machine("m-1", "127.240.0.4", "first"), w.machine("m-2", "127.240.0.5", "first")
	w.keep(t, one, two)
	before, beside := w.pid("m-1"), w.pid("m-2")
	if before == 0 || beside == 0 || w.pods(t, "m-1") != "127.240.64.0/24" || w.pods(t, "m-2") != "127.240.65.0/24" {
		t.Fatalf("%d has %s, %d has %s", before, w.pods(t, "m-1"), beside, w.pods(t, "m-2"))
	}
	for _, name := range []string{kubeconfig, servingCert, servingKey, clientCA} {
		if info, err := os.Stat(filepath.Join(one.Disk, kubeletFolder, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.keep(t, one, two)
	if w.pid("m-1") != before {
		t.Error("a kubelet was started again for nothing")
	}
	one.Boot = "second"
	w.keep(t, one, two)
	w.keep(t, one, two) // the first may have found that the old one has not ended yet
	if now := w.pid("m-1"); now == 0 || now == before || w.pid("m-2") != beside || w.pods(t, "m-1") != "127.240.64.0/24" {
		t.Errorf("after a reboot: %d with %s, beside %d", now, w.pods(t, "m-1"), w.pid("m-2"))
	}
	w.keep(t, two, w.machine("m-3", "127.240.0.6", "first"))
	if w.pid("m-1") != 0 || w.pods(t, "m-3") != "127.240.64.0/24" {
		t.Errorf("the kubelet of a machine that is gone is %d; the next has %s", w.pid("m-1"), w.pods(t, "m-3"))
	}
	w.keep(t)
	if w.pid("m-2") != 0 || w.network.proxy != nil {
		t.Error("without machines something goes on")
	}
}

func TestKeep_AddressBeyondTheShoots_IsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.241.0.0/16")
	err := w.Keep([]Machine{w.machine("m-1", "10.250.0.4", "first")}, Access{Server: "https://api", Kubeconfig: config})
	if err == nil || !strings.Contains(err.Error(), `its address "10.250.0.4" is not in 127.241.0.0/18`) {
		t.Errorf("got %v", err)
	}
}

// A machine without power runs nothing, and finds its shoot's network when it has power again.
func TestKeep_MachineThatIsOff_RunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "127.244.0.0/16")
	one := w.machine("m-1", "127.244.0.4", "first")
	w.keep(t, one)
	before := w.pid("m-1")
	switchTo := func(power program.Power) {
		if err := program.SwitchPower(w.kubelets.options.Root, w.kubelets.plan.Range(), power); err != nil {
			t.Fatal(err)
		}
		w.keep(t, one)
	}
	switchTo(program.PowerFrozen)
	if w.pid("m-1") != before || !w.Runs("m-1") {
		t.Error("a frozen machine has ended")
	}
	switchTo(program.PowerOff)
	if now := w.pid("m-1"); before == 0 || now != 0 || w.Runs("m-1") || w.network.proxy == nil {
		t.Errorf("process %d, off: %d", before, now)
	}
	switchTo(program.PowerOn)
	w.keep(t, one) // the first may have found that the old one has not ended yet
	if now := w.pid("m-1"); now == 0 || now == before {
		t.Errorf("process %d, on again: %d", before, now)
	}
}
