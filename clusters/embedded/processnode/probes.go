package processnode

import (
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/probe"
)

// afterStart runs what follows the start of a container: its hook, then its probes.
func (w *worker) afterStart(ctx context.Context, i *instance) {
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
func (w *worker) probe(ctx context.Context, i *instance, process *container.Process) {
	if i.spec.StartupProbe != nil {
		w.loop(ctx, i, process, probe.Startup, i.spec.StartupProbe)
		return
	}
	w.becomeStarted(ctx, i, process)
}

func (w *worker) becomeStarted(ctx context.Context, i *instance, process *container.Process) {
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

func (w *worker) loop(ctx context.Context, i *instance, process *container.Process, kind probe.Kind,
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
	go probe.Loop(ctx, w.clock, kind, spec, target, report)
}

// judge acts on the result of one probe.
func (w *worker) judge(ctx context.Context, end context.CancelFunc, i *instance, process *container.Process,
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
func (w *worker) graceOf(spec *corev1.Probe) time.Duration {
	if spec.TerminationGracePeriodSeconds != nil {
		return max(time.Duration(*spec.TerminationGracePeriodSeconds)*time.Second, time.Second)
	}
	return w.grace()
}

// target is the container as its probes and hooks reach it. It may be used from any goroutine.
func (w *worker) target(i *instance) probe.Target {
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
