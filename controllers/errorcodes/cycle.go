package errorcodes

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// DefaultRetryDuration is how long an operation is retried.
const DefaultRetryDuration = 12 * time.Hour

// StateAfter says in what state an operation ends that met errors, and why: Failed if a code says that no retry helps,
// or if the cycle of retries has lasted longer than retryDuration; else Error, which is retried
// (docs/specification/care.md#spec-5-9). A cycle that has not begun has not lasted.
func StateAfter(errs []gardencorev1beta1.LastError, cycleStart *metav1.Time, now time.Time,
	retryDuration time.Duration) (gardencorev1beta1.LastOperationState, string) {
	for _, e := range errs {
		for _, code := range e.Codes {
			if NonRetryable(code) {
				return gardencorev1beta1.LastOperationStateFailed, fmt.Sprintf("%s is not retryable", code)
			}
		}
	}
	if cycleStart != nil && now.After(cycleStart.Add(retryDuration)) {
		return gardencorev1beta1.LastOperationStateFailed, fmt.Sprintf("it has been retried since %s, for longer than %s",
			cycleStart.UTC().Format(time.RFC3339), retryDuration)
	}
	return gardencorev1beta1.LastOperationStateError, "no code forbids it to be retried"
}

// NewCycle is whether the next attempt begins a new cycle of retries: there is none, the last one has ended with a
// failure, or the specification or the version of who acts has changed since (docs/specification/care.md#spec-5-9). A
// Failed operation goes on only when somebody asks for it, so that who asks for a retry gets a whole cycle.
func NewCycle(status *gardencorev1beta1.ShootStatus, generation int64, version string) bool {
	last := status.LastOperation
	return status.RetryCycleStartTime == nil || last != nil && last.State == gardencorev1beta1.LastOperationStateFailed ||
		status.ObservedGeneration != generation || status.Gardener.Version != version
}

// RetryThrottled says when a Failed shoot is to be retried because its cloud throttled it, which
// passes (docs/specification/care.md#spec-5-9); false means never. A jitter between 0 and 1 spreads shoots that failed
// together.
func RetryThrottled(status *gardencorev1beta1.ShootStatus, period, maxJitter time.Duration, jitter float64) (time.Time,
	bool) {
	last := status.LastOperation
	if last == nil || last.State != gardencorev1beta1.LastOperationStateFailed {
		return time.Time{}, false
	}
	throttled := slices.ContainsFunc(status.LastErrors, func(e gardencorev1beta1.LastError) bool {
		return slices.Contains(e.Codes, gardencorev1beta1.ErrorInfraRateLimitsExceeded)
	})
	if !throttled {
		return time.Time{}, false
	}
	return last.LastUpdateTime.Add(period + time.Duration(jitter*float64(maxJitter))), true
}
