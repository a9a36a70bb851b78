package care

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestNext_AfterAnOperation_IsSoonerUntilAllIsWell(t *testing.T) {
	t.Parallel()
	const succeeded, processing = gardencorev1beta1.LastOperationStateSucceeded,
		gardencorev1beta1.LastOperationStateProcessing
	r, ended := &Reconciler{SyncPeriod: time.Minute}, time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state gardencorev1beta1.LastOperationState
		found gardencorev1beta1.ConditionStatus
		since time.Duration
		want  time.Duration
	}{
		"well at once":             {succeeded, gardencorev1beta1.ConditionTrue, time.Second, time.Minute},
		"not yet well":             {succeeded, gardencorev1beta1.ConditionProgressing, time.Second, 12 * time.Second},
		"not yet well for a while": {succeeded, gardencorev1beta1.ConditionProgressing, 26 * time.Second, 13 * time.Second},
		"unknown counts, too":      {succeeded, gardencorev1beta1.ConditionUnknown, time.Second, 12 * time.Second},
		"ill long afterwards":      {succeeded, gardencorev1beta1.ConditionFalse, time.Hour, time.Minute},
		"while it is worked on":    {processing, gardencorev1beta1.ConditionProgressing, time.Second, time.Minute},
		"before any operation":     {"", gardencorev1beta1.ConditionProgressing, time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{}
			if c.state != "" {
				shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: c.state,
					LastUpdateTime: metav1.NewTime(ended)}
			}
			found := []gardencorev1beta1.Condition{{Status: gardencorev1beta1.ConditionTrue}, {Status: c.found}}
			if got := r.next(shoot, found, ended.Add(c.since)); got != c.want {
				t.Errorf("the next look is after %s, want %s", got, c.want)
			}
		})
	}
}
