package podworker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/probe"
)

// afterStart runs what follows the start of a container: its hook, then its probes.
func (w *Worker) afterStart(ctx context.Context, i *instance) {
	probes, cancel := context.WithCancel(ctx)
	i.probes, i.endProbes = probes, cancel
	process := i.process
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PostStart == nil {
		w.probe(probes, i, process)
		return
	}
	target := w.target(i)
	handler := i.spec.Lifecycle.PostStart
	w.elsewhere(func() func() {
		err := w.runHook(probes, handler, target)
		return func() {
			switch {
			case i.process != process:
			case err != nil:
				w.eventf(i, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: %v", err)
				w.stopInstance(ctx, i, "FailedPostStartHook", w.grace())
			default:
				w.probe(probes, i, process)
			}
		}
	})
}

// probe starts the container's probes: the startup probe alone, until it has succeeded.
func (w *Worker) probe(ctx context.Context, i *instance, process *container.Process) {
	if i.spec.StartupProbe != nil {
		w.loop(ctx, i, process, probe.Startup, i.spec.StartupProbe)
		return
	}
	w.becomeStarted(ctx, i, process)
}

func (w *Worker) becomeStarted(ctx context.Context, i *instance, process *container.Process) {
	i.started = true
	if i.spec.LivenessProbe != nil {
		w.loop(ctx, i, process, probe.Liveness, i.spec.LivenessProbe)
	}
	if i.spec.ReadinessProbe == nil {
		i.ready = true
		return
	}
	w.loop(ctx, i, process, probe.Readiness, i.spec.ReadinessProbe)
}

func (w *Worker) loop(ctx context.Context, i *instance, process *container.Process, kind probe.Kind,
	spec *corev1.Probe) {
	ctx, cancel := context.WithCancel(ctx)
	report := func(outcome probe.Outcome) bool {
		w.mail.post(func() {
			if i.process == process && ctx.Err() == nil {
				w.judge(ctx, cancel, i, process, spec, outcome)
			}
		})
		return true
	}
	target := w.target(i)
	go probe.Loop(ctx, w.Clock, kind, spec, target, report)
}

// judge acts on the result of one probe.
func (w *Worker) judge(ctx context.Context, end context.CancelFunc, i *instance, process *container.Process,
	spec *corev1.Probe, outcome probe.Outcome) {
	if outcome.Err != nil {
		w.eventf(i, corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", outcome.Kind, outcome.Err)
	}
	if !outcome.Reached {
		return
	}
	well := outcome.Err == nil
	switch {
	case outcome.Kind == probe.Readiness:
		i.ready = well
	case outcome.Kind == probe.Startup && well:
		end()
		// ctx has ended with this probe; the others hang on the container's own.
		w.becomeStarted(i.probes, i, process)
	case !well && w.phase < phaseStopping:
		end()
		why := "Container " + i.spec.Name + " failed " + map[probe.Kind]string{probe.Startup: "startup",
			probe.Liveness: "liveness"}[outcome.Kind] +
			" probe, will be restarted"
		w.stopInstance(context.WithoutCancel(ctx), i, why, w.graceOf(spec))
	}
}

// graceOf is the grace period of a container that has failed a probe.
func (w *Worker) graceOf(spec *corev1.Probe) time.Duration {
	if spec.TerminationGracePeriodSeconds != nil {
		return max(time.Duration(*spec.TerminationGracePeriodSeconds)*time.Second, time.Second)
	}
	return w.grace()
}

// target is the container as its probes and hooks reach it. It may be used from any goroutine.
func (w *Worker) target(i *instance) probe.Target {
	process, environment, dir := i.process, i.environment.Strings(), i.spec.WorkingDir
	return probe.Target{
		Host:  w.ip,
		Ports: i.spec.Ports,
		Exec: func(ctx context.Context, command []string, output io.Writer) (int, error) {
			exit, err := process.Exec(ctx, container.Command{Args: command, Env: environment, Dir: dir, Stdout: output,
				Stderr: output})
			return exit.Code, err
		},
	}
}

// runHook runs a container's postStart or preStop hook until ctx is done.
func (w *Worker) runHook(ctx context.Context, handler *corev1.LifecycleHandler, target probe.Target) error {
	switch {
	case handler.Exec != nil:
		var output bytes.Buffer
		code, err := target.Exec(ctx, handler.Exec.Command, &output)
		if err == nil && code != 0 {
			err = fmt.Errorf("command %q exited with %d: %s", strings.Join(handler.Exec.Command, " "), code,
				strings.TrimSpace(output.String()))
		}
		return err
	case handler.HTTPGet != nil:
		response, err := target.Get(ctx, handler.HTTPGet)
		if err != nil {
			return err
		}
		return response.Body.Close()
	case handler.Sleep != nil:
		timer := w.Clock.NewTimer(time.Duration(handler.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
		return nil
	}
	return errors.New("the hook is of a kind that this node does not know")
}

// preStop returns what to do before the container is asked to end, or nil.
func (w *Worker) preStop(i *instance) func(context.Context) {
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PreStop == nil {
		return nil
	}
	target, handler := w.target(i), i.spec.Lifecycle.PreStop
	return func(ctx context.Context) {
		err := w.runHook(ctx, handler, target)
		if err != nil && ctx.Err() == nil {
			w.mail.post(func() { w.eventf(i, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: %v", err) })
		}
	}
}
