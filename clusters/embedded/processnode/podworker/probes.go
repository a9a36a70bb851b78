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
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/probe"
)

// afterStart runs what follows the start of a container: its hook, then its probes.
func (i *instance) afterStart(ctx context.Context) {
	probes, cancel := context.WithCancel(ctx)
	i.endProbes = cancel
	process := i.process
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PostStart == nil {
		prober{i, process}.start(probes)
		return
	}
	target := i.target()
	handler := i.spec.Lifecycle.PostStart
	i.pod.mail.elsewhere(func() func() {
		err := runHook(probes, i.pod.Clock, handler, target)
		return func() {
			switch {
			case i.process != process:
			case err != nil:
				i.eventf(corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: %v", err)
				i.stop(ctx, "FailedPostStartHook", i.pod.grace())
			default:
				prober{i, process}.start(probes)
			}
		}
	})
}

// prober runs the probes of one run of a container.
type prober struct {
	of      *instance
	process *container.Process
}

// start begins with the startup probe alone, until it has succeeded. They end with ctx, as the run does.
func (p prober) start(ctx context.Context) {
	if startup := p.of.spec.StartupProbe; startup != nil {
		p.loop(ctx, probe.Startup, startup)
		return
	}
	p.becomeStarted(ctx)
}

func (p prober) becomeStarted(ctx context.Context) {
	p.of.started = true
	if liveness := p.of.spec.LivenessProbe; liveness != nil {
		p.loop(ctx, probe.Liveness, liveness)
	}
	if p.of.spec.ReadinessProbe == nil {
		p.of.ready = true
		return
	}
	p.loop(ctx, probe.Readiness, p.of.spec.ReadinessProbe)
}

func (p prober) loop(run context.Context, kind probe.Kind, spec *corev1.Probe) {
	ctx, end := context.WithCancel(run)
	report := func(outcome probe.Outcome) bool {
		p.of.pod.mail.post(func() {
			if p.of.process == p.process && ctx.Err() == nil {
				p.judge(run, end, spec, outcome)
			}
		})
		return true
	}
	go probe.Loop(ctx, p.of.pod.Clock, kind, spec, p.of.target(), report)
}

// judge acts on the result of one probe, which it may end.
func (p prober) judge(run context.Context, end context.CancelFunc, spec *corev1.Probe, outcome probe.Outcome) {
	i := p.of
	if outcome.Err != nil {
		i.eventf(corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %v", outcome.Kind, outcome.Err)
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
		p.becomeStarted(run)
	case !well && i.pod.phase < phaseStopping:
		end()
		why := "Container " + i.spec.Name + " failed " + map[probe.Kind]string{probe.Startup: "startup",
			probe.Liveness: "liveness"}[outcome.Kind] +
			" probe, will be restarted"
		grace := i.pod.grace()
		if seconds := spec.TerminationGracePeriodSeconds; seconds != nil {
			grace = max(time.Duration(*seconds)*time.Second, time.Second)
		}
		i.stop(context.WithoutCancel(run), why, grace)
	}
}

// target is the container as its probes and hooks reach it. It may be used from any goroutine.
func (i *instance) target() probe.Target {
	process, environment, dir := i.process, i.environment.Strings(), i.spec.WorkingDir
	return probe.Target{
		Host:  i.sandbox.ip,
		Ports: i.spec.Ports,
		Exec: func(ctx context.Context, command []string, output io.Writer) (int, error) {
			exit, err := process.Exec(ctx, container.Command{Args: command, Env: environment, Dir: dir, Stdout: output,
				Stderr: output})
			return exit.Code, err
		},
	}
}

// runHook runs a container's postStart or preStop hook until ctx is done.
func runHook(ctx context.Context, c clock.WithDelayedExecution, handler *corev1.LifecycleHandler,
	target probe.Target) error {
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
		timer := c.NewTimer(time.Duration(handler.Sleep.Seconds) * time.Second)
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
func (i *instance) preStop() func(context.Context) {
	if i.spec.Lifecycle == nil || i.spec.Lifecycle.PreStop == nil {
		return nil
	}
	target, handler := i.target(), i.spec.Lifecycle.PreStop
	return func(ctx context.Context) {
		err := runHook(ctx, i.pod.Clock, handler, target)
		if err != nil && ctx.Err() == nil {
			i.pod.mail.post(func() { i.eventf(corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: %v", err) })
		}
	}
}
