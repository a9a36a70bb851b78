package errorcodes

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func errs(codes ...gardencorev1beta1.ErrorCode) []gardencorev1beta1.LastError {
	return []gardencorev1beta1.LastError{{Description: "first"}, {Description: "second", Codes: codes}}
}

// TestStateAfter: the rows of docs/specification/care.md#spec-5-9.
func TestStateAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errs  []gardencorev1beta1.LastError
		start time.Duration // before noon; 0 means there is none
		state gardencorev1beta1.LastOperationState
		why   string
	}{
		"no code":          {errs: errs(), start: time.Hour, state: "Error"},
		"a retryable code": {errs: errs("ERR_INFRA_RESOURCES_DEPLETED"), start: time.Hour, state: "Error"},
		"a non-retryable code": {errs: errs("ERR_INFRA_RESOURCES_DEPLETED", "ERR_INFRA_UNAUTHORIZED"),
			start: time.Second, state: "Failed", why: "ERR_INFRA_UNAUTHORIZED is not retryable"},
		"a code nobody knows":         {errs: errs("ERR_X"), start: time.Hour, state: "Error"},
		"12 h, not one second longer": {errs: errs(), start: 12 * time.Hour, state: "Error"},
		"longer than 12 h": {errs: errs(), start: 12*time.Hour + time.Second, state: "Failed",
			why: "it has been retried since 2026-11-20T23:59:59Z, for longer than 12h0m0s"},
		"longer, with a retryable code": {errs: errs("ERR_CLEANUP_CLUSTER_RESOURCES"), start: 13 * time.Hour, state: "Failed",
			why: "it has been retried"},
		"a cycle that has not begun": {errs: errs(), state: "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var start *metav1.Time
			if c.start > 0 {
				start = &metav1.Time{Time: noon.Add(-c.start)}
			}
			state, why := StateAfter(c.errs, start, noon, DefaultRetryDuration)
			if state != c.state || !strings.HasPrefix(why, c.why) || why == "" {
				t.Errorf("%s, %q", state, why)
			}
		})
	}
}

func TestNewCycle(t *testing.T) {
	t.Parallel()
	status := gardencorev1beta1.ShootStatus{
		RetryCycleStartTime: &metav1.Time{Time: noon}, ObservedGeneration: 3,
		Gardener: gardencorev1beta1.Gardener{Version: "v1"},
	}
	if NewCycle(&status, 3, "v1") {
		t.Error("a cycle goes on while nothing changes")
	}
	if !NewCycle(&status, 4, "v1") || !NewCycle(&status, 3, "v2") {
		t.Error("a change of specification or version begins a cycle")
	}
	status.LastOperation = &gardencorev1beta1.LastOperation{State: gardencorev1beta1.LastOperationStateError}
	if NewCycle(&status, 3, "v1") {
		t.Error("a cycle goes on after an error that is retried")
	}
	status.LastOperation.State = gardencorev1beta1.LastOperationStateFailed
	if !NewCycle(&status, 3, "v1") {
		t.Error("the first attempt after a failure begins a cycle")
	}
	status.RetryCycleStartTime, status.LastOperation = nil, nil
	if !NewCycle(&status, 3, "v1") {
		t.Error("without a cycle one begins")
	}
}

func TestRetryThrottled(t *testing.T) {
	t.Parallel()
	status := func(state gardencorev1beta1.LastOperationState,
		codes ...gardencorev1beta1.ErrorCode) *gardencorev1beta1.ShootStatus {
		return &gardencorev1beta1.ShootStatus{
			LastOperation: &gardencorev1beta1.LastOperation{State: state, LastUpdateTime: metav1.Time{Time: noon}},
			LastErrors:    errs(codes...),
		}
	}
	at, ok := RetryThrottled(status("Failed", "ERR_INFRA_RATE_LIMITS_EXCEEDED"), 10*time.Minute, 5*time.Minute, 0.5)
	if want := noon.Add(12*time.Minute + 30*time.Second); !ok || !at.Equal(want) {
		t.Errorf("%t, %s", ok, at)
	}
	for name, s := range map[string]*gardencorev1beta1.ShootStatus{
		"never operated":   {},
		"not failed":       status("Error", "ERR_INFRA_RATE_LIMITS_EXCEEDED"),
		"for other causes": status("Failed", "ERR_INFRA_QUOTA_EXCEEDED"),
	} {
		if at, ok := RetryThrottled(s, time.Minute, 0, 0); ok {
			t.Errorf("%s: at %s", name, at)
		}
	}
}
