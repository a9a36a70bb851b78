package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// embeddedBackend is the name of the backend that needs nothing but this machine.
const embeddedBackend = "embedded"

// onSeeds starts two seeds, does something there, and stops them.
func (o *options) onSeeds(ctx context.Context, e *environment.Environment, subjects []subject, out io.Writer,
	do func(context.Context, *kit) error) (err error) {
	began := time.Now()
	progress := func(format string, arguments ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
	dir, lock, err := claim()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := dir.Renew(); err != nil {
		return err
	}
	defer func() {
		_, cleared := dir.Clear()
		err = errors.Join(err, cleared)
	}()
	progress("starting two seeds with %s", e.Extensions[0].Name)
	l, err := o.start(ctx, e, dir, lock, progress)
	if err != nil {
		return errors.Join(err, e.CopyLogs(dir, filepath.Join(o.out, logsName)))
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		kept := environment.KeepLogs(cleanup, l, filepath.Join(o.out, logsName))
		err = errors.Join(err, kept, l.Stop(cleanup))
	}()
	k := &kit{landscape: l, environment: e, multiplier: o.multiplier, progress: progress,
		quiet: quietTime * time.Duration(o.multiplier), settles: settleTime * time.Duration(o.multiplier)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := k.connect(ctx, subjects); err != nil {
		return err
	}
	progress("trying %d kinds", len(subjects))
	err = k.whileItBegins(ctx, o.undisturbed(k, subjects[0]), do)
	progress("done")
	return err
}

// start two seeds of the backend.
func (o *options) start(ctx context.Context, e *environment.Environment, dir rundir.Dir, lock *rundir.Lock,
	progress func(string, ...any)) (environment.Landscape, error) {
	seeds := []string{sourceName, destinationName}
	if o.backend == rundir.Kind {
		options := kind.Options{Name: dir.Name, Dir: dir.Path, Lock: lock, Seeds: seeds, NodeImage: o.nodeImage,
			MaxRestartBackoff: time.Second, // many crashes are tried
			Progress:          func(subject, what string) { progress("%s: %s", subject, what) }}
		if err := environment.ConfigureExtensionsAloneOnKind(ctx, e, &options); err != nil {
			return nil, err
		}
		return kind.Start(ctx, options)
	}
	options := embedded.Options{Name: dir.Name, Dir: dir.Path, Lock: lock, Seeds: seeds}
	e.ConfigureExtensionsAlone(&options)
	return embedded.Start(ctx, options)
}

// stopTimeout bounds the end of the seeds.
const stopTimeout = 2 * time.Minute

// undisturbed makes an object for a plan, which may have none that is to succeed. It is nil for a whole run.
func (o *options) undisturbed(k *kit, s subject) func(context.Context) error {
	if o.replayed == nil {
		return nil
	}
	return func(ctx context.Context) error {
		return k.newWalk(s, contract.Clean, "begins").walkThrough(ctx, contract.WalkSteps[contract.Clean][:1])
	}
}

// most landscapes of this command at once.
const most = 9

// claim the first landscape that nobody uses.
func claim() (rundir.Dir, *rundir.Lock, error) {
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, nil, err
	}
	for n := range most {
		name := "contract"
		if n > 0 {
			name += fmt.Sprintf("-%d", n+1)
		}
		dir, err := rundir.Of(home, name)
		if err != nil {
			return rundir.Dir{}, nil, err
		}
		lock, err := dir.TakeLock()
		if !errors.Is(err, rundir.ErrInUse) {
			return dir, lock, err
		}
	}
	return rundir.Dir{}, nil, fmt.Errorf("find a free landscape: contract to contract-%d are all in use", most)
}

// returnWait is how long an extension may take to be started again, and then to be back. A node waits up to a minute.
const returnWait = 90 * time.Second

// kill the extension on a seed. Its Leases go with it: the kit knows that the leader is dead, and its successor need
// not wait for them to end. What is returned waits until the extension is started again.
func (k *kit) kill(ctx context.Context, at *side) (restarted func(context.Context) error, err error) {
	before, err := k.containers(ctx, at)
	if err != nil {
		return nil, err
	}
	pids, err := k.signalAt(ctx, at, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	k.progress("killed %s: process %s", at.actor, strings.Trim(fmt.Sprint(pids), "[]"))
	if err := at.client.DeleteAllOf(ctx, &coordinationv1.Lease{},
		client.InNamespace(k.extension().Namespace())); err != nil {
		return nil, fmt.Errorf("delete the Leases of %s: %w", at.actor, err)
	}
	return func(ctx context.Context) error { return k.awaitRestart(ctx, at, before) }, nil
}

// signaller sends a signal to what runs in the pods of a cluster with a variable in its environment, and returns the
// ids of these processes. The signal 0 does nothing to them.
type signaller func(ctx context.Context, variable, value string, signal syscall.Signal) (pids []int, err error)

// inPods signals on an embedded cluster.
func inPods(on *embedded.Cluster) signaller {
	return func(ctx context.Context, variable, value string, signal syscall.Signal) (pids []int, err error) {
		found, err := on.Containers(ctx)
		for _, p := range found {
			if p.Env[variable] != value || !p.Alive() {
				continue
			}
			if err := p.Signal(signal); err != nil {
				return pids, err
			}
			pids = append(pids, p.PID)
		}
		return pids, err
	}
}

// signalAt signals the processes of the extension on a seed. If it has ended by itself, that waits until it is started
// again. Without a process it is an error: then no crash may be claimed.
func (k *kit) signalAt(ctx context.Context, at *side, signal syscall.Signal) ([]int, error) {
	wait := returnWait * time.Duration(k.multiplier)
	for until := time.Now().Add(wait); ; {
		pids, err := at.signal(ctx, landscape.ActorVariable, at.actor, signal)
		if err != nil {
			return nil, fmt.Errorf("signal %s: %w", at.actor, err)
		}
		if len(pids) > 0 {
			return pids, nil
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("kill %s: within %s no process has had %s=%[1]s in its environment: "+
				"it must run, and keep its environment", at.actor, wait, landscape.ActorVariable)
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

// checkKill returns an error if the extension cannot be killed on both seeds.
func (k *kit) checkKill(ctx context.Context) error {
	for _, at := range k.sides {
		if _, err := k.signalAt(ctx, at, 0); err != nil {
			return fmt.Errorf("--points all: %w; --points none needs no crash", err)
		}
	}
	return nil
}

// containers of the extension on a seed, by their pods and names.
func (k *kit) containers(ctx context.Context, at *side) (map[string]diagnosis.Container, error) {
	pods := &corev1.PodList{}
	if err := at.client.List(ctx, pods, client.InNamespace(k.extension().Namespace())); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", at.actor, err)
	}
	all := map[string]diagnosis.Container{}
	for i := range pods.Items {
		if owner, _ := (environment.Owners{}).OwnerOf(at.name, &pods.Items[i]); owner.Actor == at.actor {
			for _, c := range diagnosis.Containers(&pods.Items[i]) {
				all[pods.Items[i].Name+"/"+c.Name] = c
			}
		}
	}
	return all, nil
}

// awaitRestart waits until a container of the extension that was there before has ended and was started again. One that
// a node does not start again says nothing about the extension, so that is an error.
func (k *kit) awaitRestart(ctx context.Context, at *side, before map[string]diagnosis.Container) error {
	wait := returnWait * time.Duration(k.multiplier)
	for until := time.Now().Add(wait); ; {
		now, err := k.containers(ctx, at)
		if err != nil {
			return err
		}
		for name, c := range now {
			if was, known := before[name]; known && c.Restarts > was.Restarts && c.Ended != nil {
				k.progress("container %s has ended with %s, and was started again", name, c.Ended)
				return nil
			}
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s was killed, and within %s none of its %d containers was started again: "+
				"look at the node, or use --timeout-multiplier %d", at.actor, wait, len(now), k.multiplier+1)
		}
		if err := sleep(ctx, poll); err != nil {
			return err
		}
	}
}
