package harm

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// revivalTimeout bounds how long a heal waits for a killed process to be started again.
	revivalTimeout = 60 * time.Second
	// presenceTimeout bounds how long a fault waits for its process.
	presenceTimeout = 30 * time.Second
)

// BreakProcess implements world.Breaker.
func (i *Injector) BreakProcess(ctx context.Context, wanted world.Process, harm world.Harm) (world.Injection, error) {
	if wanted.Cluster != "" {
		return i.breakProgram(ctx, wanted, harm)
	}
	all, err := i.findersFor(wanted)
	if err != nil {
		return world.Injection{}, err
	}
	victims, err := all.find(ctx)
	if err != nil {
		return world.Injection{}, fmt.Errorf("%s %+v: %w", harm, wanted, err)
	}
	if len(victims) == 0 {
		return world.Injection{}, fmt.Errorf("%s %+v: no such process runs", harm, wanted)
	}
	signal := syscall.SIGKILL
	if harm == world.Freeze {
		signal = syscall.SIGSTOP
	}
	heal := func(context.Context) error { return signalAll(victims, syscall.SIGCONT) }
	if harm == world.Kill {
		heal = func(ctx context.Context) error { return awaitOthers(ctx, victims, wanted, all.find) }
	}
	return world.Injection{Heal: heal, Hits: func() int { return len(victims) }}, signalAll(victims, signal)
}

// AwaitProcess implements world.Breaker. A program of a cluster runs, or was harmed.
func (i *Injector) AwaitProcess(ctx context.Context, wanted world.Process) error {
	if wanted.Cluster != "" {
		return nil
	}
	all, err := i.findersFor(wanted)
	if err != nil {
		return err
	}
	if err := awaitSome(ctx, 1, presenceTimeout, all.find); err != nil {
		return fmt.Errorf("wait until %+v runs: %w", wanted, err)
	}
	return nil
}

const processPoll = 50 * time.Millisecond

// awaitSome waits until find finds as many as that.
func awaitSome(ctx context.Context, count int, timeout time.Duration, find func(context.Context) ([]process.Program,
	error)) error {
	return ready.Await(ctx, processPoll, timeout, func(ctx context.Context) error {
		found, err := find(ctx)
		switch {
		case err != nil:
			return err
		case len(found) == 0 && count > 0:
			return errors.New("no such process runs")
		case len(found) < count:
			return fmt.Errorf("%d of %d run", len(found), count)
		}
		return nil
	})
}

func signalAll(victims []process.Program, signal syscall.Signal) error {
	var errs []error
	for _, victim := range victims {
		errs = append(errs, victim.Signal(signal))
	}
	return errors.Join(errs...)
}

// awaitOthers waits until as many processes of the kind run again. A control plane that has moved meanwhile runs
// elsewhere, or nowhere: then there is nobody to wait for.
func awaitOthers(ctx context.Context, victims []process.Program, wanted world.Process,
	find func(context.Context) ([]process.Program, error)) error {
	if wanted.Shoot != "" {
		return nil
	}
	if err := awaitSome(ctx, startedAgain(victims), revivalTimeout, find); err != nil {
		return fmt.Errorf("wait until %+v runs again: %w", wanted, err)
	}
	return nil
}

// startedAgain is how many of the killed processes start again. A third-party extension counts once: it may have had
// children just then.
func startedAgain(victims []process.Program) int {
	others, own := 0, map[string]bool{}
	for _, victim := range victims {
		if actor := victim.Env[landscape.ActorVariable]; actor != "" {
			own[actor] = true
			continue
		}
		others++
	}
	return others + len(own)
}

// programmed is a cluster whose own programs ("etcd", "kube-apiserver", …) are processes of this machine.
type programmed interface {
	clusters.Killer
	Program(name string) (process.ID, error)
}

var _ programmed = &embedded.Cluster{}

// breakProgram kills or freezes a program of a cluster itself.
func (i *Injector) breakProgram(ctx context.Context, wanted world.Process, harm world.Harm) (world.Injection, error) {
	found, err := i.on.Landscape.Cluster(wanted.Cluster)
	if err != nil {
		return world.Injection{}, err
	}
	cluster, can := found.(programmed)
	if !can {
		return world.Injection{}, fmt.Errorf("%s %q of cluster %q: its programs are no processes of this machine", harm,
			wanted.Program, wanted.Cluster)
	}
	id, err := cluster.Program(wanted.Program)
	if err != nil { // nobody would feel it
		return world.Injection{}, fmt.Errorf("%s %+v: no such process runs: %w", harm, wanted, err)
	}
	one := func() int { return 1 }
	if harm == world.Kill {
		heal := func(ctx context.Context) error { return cluster.Revive(ctx, wanted.Program) }
		return world.Injection{Heal: heal, Hits: one}, cluster.Kill(ctx, wanted.Program)
	}
	heal := func(context.Context) error { return id.Signal(syscall.SIGCONT) }
	return world.Injection{Heal: heal, Hits: one}, id.Signal(syscall.SIGSTOP)
}

func noSuchProgram(name string) error {
	return fmt.Errorf("find the program %q: a control plane has none of this name", name)
}

// controlPlanePrograms are the programs of a control plane: the pod that holds each, and what its container is called
// with.
var controlPlanePrograms = map[string]struct{ role, subcommand string }{
	"backup":                    {workload.Etcd, "etcd-backup"},
	"etcd":                      {workload.Etcd, "etcd"},
	"gardener-resource-manager": {workload.ResourceManager, "gardener-resource-manager"},
	"guard":                     {workload.Etcd, "etcd-guard"},
	"kube-apiserver":            {workload.KubeAPIServer, "kube-apiserver"},
	"kube-controller-manager":   {workload.ControllerManager, "kube-controller-manager"},
	"kube-scheduler":            {workload.Scheduler, "kube-scheduler"},
	"machine-controller":        {workload.MachineController, "machine-controller"},
}
