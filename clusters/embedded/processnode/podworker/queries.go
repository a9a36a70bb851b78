package podworker

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
)

// ErrGone is the answer of a worker that has ended.
var ErrGone = errors.New("the pod is gone")

// ask lets another goroutine look at a worker. It returns false when the worker has ended, or ctx is done.
func ask[T any](ctx context.Context, w *Worker, question func() T) (answer T, answered bool) {
	answers := make(chan T, 1)
	w.pod.mail.post(func() { answers <- question() })
	select {
	case answer = <-answers:
		return answer, true
	case <-w.ended:
	case <-ctx.Done():
	}
	return answer, false
}

// Name of the pod.
func (w *Worker) Name() string { return w.pod.first.Name }

// UID of the pod.
func (w *Worker) UID() types.UID { return w.pod.first.UID }

// Pod is the pod as the worker has seen it last. It returns false when the worker has ended, or ctx is done; so do the
// other questions to a worker, or they return ErrGone.
func (w *Worker) Pod(ctx context.Context) (*corev1.Pod, bool) {
	return ask(ctx, w, func() *corev1.Pod { return w.pod.seen })
}

// IP is the address of the pod.
func (w *Worker) IP(ctx context.Context) (string, bool) {
	return ask(ctx, w, func() string { return w.sandbox.ip })
}

// Process is a container's first process, as GET /processes lists it. It is had from the node itself, with the API
// server's client certificate: the API server proxies to no loopback address.
type Process struct {
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       types.UID `json:"uid"`
	Container string    `json:"container"`
	PID       int       `json:"pid"` // on the host
}

// Processes of the pod's containers that run.
func (w *Worker) Processes(ctx context.Context) ([]Process, bool) {
	return ask(ctx, w, w.runningProcesses)
}

func (w *Worker) runningProcesses() (list []Process) {
	for _, i := range w.containers.all() {
		if i.process != nil {
			list = append(list, Process{w.pod.first.Namespace, w.pod.seen.Name, w.pod.seen.UID, i.spec.Name, i.process.PID()})
		}
	}
	return list
}

// Running finds the process of a container that runs, and what a further command in the container shares with it: the
// environment and the working directory.
func (w *Worker) Running(ctx context.Context, name string) (*container.Process, container.Command, error) {
	at, answered := ask(ctx, w, func() place { return w.placeOf(name) })
	if !answered {
		return nil, container.Command{}, ErrGone
	}
	return at.process, at.command, at.err
}

// place is where a further command runs: a container's process, and what the command shares with it.
type place struct {
	process *container.Process
	command container.Command
	err     error
}

func (w *Worker) placeOf(name string) place {
	i := w.containers.find(name)
	switch {
	case i == nil:
		return place{err: fmt.Errorf("container %q is not valid for pod %q", name, w.pod.first.Name)}
	case i.process == nil:
		return place{err: fmt.Errorf("container not found (%q)", name)}
	}
	return place{process: i.process, command: container.Command{Env: i.environment.Strings(), Dir: i.spec.WorkingDir}}
}

// LogOf finds a container's log, of its current run or of the one before.
func (w *Worker) LogOf(ctx context.Context, name string, previous bool) (*containerlog.Log, error) {
	type answer struct {
		log *containerlog.Log
		err error
	}
	found, answered := ask(ctx, w, func() (a answer) {
		i := w.containers.find(name)
		if i == nil {
			return answer{err: fmt.Errorf("container %q is not valid for pod %q", name, w.pod.first.Name)}
		}
		a.log, a.err = i.logOfRun(previous)
		return a
	})
	if !answered {
		return nil, ErrGone
	}
	return found.log, found.err
}

func (i *instance) logOfRun(previous bool) (*containerlog.Log, error) {
	last := i.runs - 1
	if previous {
		last--
	}
	switch {
	case previous && last < 0:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", i.spec.Name, i.pod.seen.Name)
	case last < 0:
		reason := "ContainerCreating"
		if waiting := i.status().State.Waiting; waiting != nil {
			reason = waiting.Reason
		}
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", i.spec.Name, i.pod.seen.Name, reason)
	case !previous && i.log != nil:
		return i.log, nil
	}
	path := logPath(i.sandbox.containerFolder(i.spec.Name), last) // from a run whose log is closed
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the log of container %q in pod %q is not kept any more", i.spec.Name, i.pod.seen.Name)
	}
	return containerlog.Closed(path), nil
}
