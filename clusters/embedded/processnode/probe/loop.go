package probe

import (
	"cmp"
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// Kind is what a probe decides about.
type Kind string

// The kinds of probes, by the names that events call them.
const (
	Startup   Kind = "Startup"
	Liveness  Kind = "Liveness"
	Readiness Kind = "Readiness"
)

// Outcome is the result of one attempt.
type Outcome struct {
	Kind Kind
	Err  error // why this attempt failed, or nil
	// Reached says that as many attempts in a row have ended like this one as the probe's threshold asks for.
	Reached bool
}

// Loop probes until ctx is done or report returns false. The first attempt is made after the initial delay.
func Loop(ctx context.Context, clock clock.Clock, kind Kind, spec *corev1.Probe, target Target,
	report func(Outcome) bool) {
	timer := clock.NewTimer(seconds(spec.InitialDelaySeconds, 0))
	defer timer.Stop()
	var successes, failures int32
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		timer.Reset(seconds(spec.PeriodSeconds, 10))
		err := attempt(ctx, spec, target)
		if ctx.Err() != nil {
			return
		}
		outcome := Outcome{Kind: kind, Err: err}
		if err == nil {
			successes, failures = successes+1, 0
			outcome.Reached = successes >= max(spec.SuccessThreshold, 1)
		} else {
			successes, failures = 0, failures+1
			outcome.Reached = failures >= threshold(spec.FailureThreshold)
		}
		if !report(outcome) {
			return
		}
	}
}

func attempt(ctx context.Context, spec *corev1.Probe, target Target) error {
	timeout := seconds(spec.TimeoutSeconds, 1)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := target.Check(limited, &spec.ProbeHandler)
	if err != nil && ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	return err
}

func threshold(n int32) int32 {
	if n == 0 {
		return 3
	}
	return n
}

func seconds(n, otherwise int32) time.Duration {
	n = cmp.Or(n, otherwise)
	return time.Duration(n) * time.Second
}
