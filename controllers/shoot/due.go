package shoot

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Cadence is what the operators decide about reconciliations that nobody asks for
// (docs/specification/versions.md#spec-4-7; shoot updates).
type Cadence struct {
	// Sync is how often a shoot that nobody changed is reconciled all the same.
	Sync time.Duration
	// InMaintenanceOnly reconciles shoots that nobody changed once in each of their time windows, not every sync period.
	InMaintenanceOnly bool
	// RespectOverwrite lets the annotation shoot.gardener.cloud/sync-period set a shoot's own period.
	RespectOverwrite bool
}

// due returns how long the shoot can wait for its next flow, zero means now; and whether it waits for its time window
// with a specification that has changed.
func (f *Flows) due(o *controlplane.Operation, operation gardencorev1beta1.LastOperationType) (wait time.Duration,
	confined bool) {
	shoot, now := o.Shoot, o.Clock.Now()
	last := shoot.Status.LastOperation
	changed := shoot.Status.ObservedGeneration != shoot.Generation
	switch {
	case operation == gardencorev1beta1.LastOperationTypeCreate && last == nil, lifecycle.Requested(shoot),
		lifecycle.RolloutRequested(shoot), lifecycle.RotationRequested(shoot):
		return 0, false
	case changed && operation == gardencorev1beta1.LastOperationTypeReconcile && confines(shoot) &&
		!window.EffectiveOf(shoot).Contains(now):
		return window.EffectiveOf(shoot).Following(now).Moment(shoot).Sub(now), true // not all shoots at its begin
	case changed:
		return 0, false
	case last.State == gardencorev1beta1.LastOperationStateFailed:
		return f.Cadence.Sync, false
	case last.State != gardencorev1beta1.LastOperationStateSucceeded:
		return o.BackOff(), false
	case f.Cadence.InMaintenanceOnly:
		return max(0, inMaintenance(shoot, last.LastUpdateTime.Time, now).Sub(now)), false
	}
	return max(0, last.LastUpdateTime.Add(f.Cadence.period(shoot)).Sub(now)), false
}

func confines(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Spec.Maintenance != nil && ptr.Deref(shoot.Spec.Maintenance.ConfineSpecUpdateRollout, false)
}

// period is how often the shoot is reconciled. An annotation that is no duration overwrites nothing.
func (c Cadence) period(shoot *gardencorev1beta1.Shoot) time.Duration {
	if own, err := time.ParseDuration(shoot.Annotations[constants.ShootSyncPeriod]); c.RespectOverwrite && err == nil &&
		own > 0 {
		return own
	}
	return c.Sync
}

// inMaintenance is when a shoot that nobody changed is reconciled: at a moment of the present window, unless it has
// been reconciled in it.
func inMaintenance(shoot *gardencorev1beta1.Shoot, last, now time.Time) time.Time {
	w := window.EffectiveOf(shoot)
	if in, yes := w.Current(now); yes && !w.ReconciledIn(last, now) {
		return in.Moment(shoot)
	}
	return w.Following(now).Moment(shoot)
}

// reportConfined shows that a changed specification waits for the time window
// (docs/specification/versions.md#spec-4-6).
func reportConfined(ctx context.Context, o *controlplane.Operation, confined bool, wait time.Duration) error {
	if !confined {
		return nil
	}
	now := o.Clock.Now()
	description := fmt.Sprintf(
		"Changes of the specification are confined to the maintenance time window. Scheduled for %s",
		now.Add(wait).UTC().Format(time.RFC3339))
	if last := o.Shoot.Status.LastOperation; last.State == gardencorev1beta1.LastOperationStatePending &&
		last.Description == description {
		return nil
	}
	return patch.LockedStatus(ctx, o.Garden, o.Shoot, func() {
		o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStatePending,
			Description: description, LastUpdateTime: metav1.NewTime(now),
		}
	})
}
