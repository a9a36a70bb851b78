package maintenance

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// outcome is status.lastMaintenance after a plan has been carried out. A plan with nothing to report leaves it as it
// is, but for a failure that is over, and for a maintenance that was cut off after everything was done
// (docs/specification/versions.md#spec-4-6).
func outcome(plan Plan, before *gardencorev1beta1.LastMaintenance, now time.Time) *gardencorev1beta1.LastMaintenance {
	r := report{}
	r.collect(plan)
	if len(r.done) == 0 {
		return settled(before)
	}
	last := &gardencorev1beta1.LastMaintenance{
		Description:   "All maintenance operations successful. " + strings.Join(r.done, ", "),
		TriggeredTime: metav1.NewTime(now),
		State:         gardencorev1beta1.LastOperationStateSucceeded,
	}
	if r.failed > 0 {
		reason := strings.Join(r.failures, ", ")
		last.Description = fmt.Sprintf("(%d/%d) maintenance operations successful. %s", r.successful, r.successful+r.failed,
			strings.Join(r.done, ", "))
		last.State, last.FailureReason = gardencorev1beta1.LastOperationStateFailed, &reason
	}
	return last
}

func settled(before *gardencorev1beta1.LastMaintenance) *gardencorev1beta1.LastMaintenance {
	if before == nil {
		return nil
	}
	after := before.DeepCopy()
	switch after.State {
	case gardencorev1beta1.LastOperationStateFailed:
		after.State, after.Description, after.FailureReason = gardencorev1beta1.LastOperationStateSucceeded,
			"Maintenance succeeded", nil
	case gardencorev1beta1.LastOperationStateProcessing:
		after.State = gardencorev1beta1.LastOperationStateSucceeded
	}
	return after
}

// report gathers what to report about a plan.
type report struct {
	done, failures     []string
	successful, failed int
}

func (r *report) collect(plan Plan) {
	r.update("Control Plane", "Kubernetes version", "", &plan.ControlPlane)
	for _, pool := range plan.Pools {
		r.update(fmt.Sprintf("Worker pool %q", pool.Name), "Kubernetes version", "", pool.Kubernetes)
	}
	for i, pool := range plan.Pools {
		image := ""
		if pool.MachineImage != nil {
			image = fmt.Sprintf(" %q", plan.Shoot.Spec.Provider.Workers[i].Machine.Image.Name)
		}
		r.update(fmt.Sprintf("Worker pool %q", pool.Name), "machine image", image, pool.MachineImage)
	}
	for _, rotation := range plan.Rotations {
		r.rotation(rotation)
	}
	r.done = append(r.done, plan.SideChanges...)
	if plan.Operation != "" && plan.Operation != constants.ShootOperationReconcile &&
		plan.Operation != constants.ShootOperationRetry {
		r.done = append(r.done, fmt.Sprintf("Added %q operation annotation", plan.Operation))
	}
}

func (r *report) update(subject, what, name string, update *version.Update) {
	switch {
	case update == nil:
	case update.Changes():
		r.successful++
		r.done = append(r.done, fmt.Sprintf("%s: Updated %s%s from %q to %q. Reason: %s", subject, what, name, update.From,
			update.To, update.Reason))
	case update.Class == version.Failed:
		r.failed++
		r.done = append(r.done, fmt.Sprintf("%s: %s%s update failed. Reason for update: %s", subject, what, name,
			update.Reason))
		r.failures = append(r.failures, fmt.Sprintf("%s: %s%s cannot be updated: %s", subject, what, name, update.Failure))
	}
}

func (r *report) rotation(rotation Rotation) {
	r.successful++
	r.done = append(r.done, fmt.Sprintf("Credentials %q: %s. Reason: %s", rotation.Operation, rotation.Description,
		rotation.Reason))
}
