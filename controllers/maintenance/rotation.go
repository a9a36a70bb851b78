package maintenance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

// Rotation is a rotation of credentials that is due.
type Rotation struct {
	// Operation is the operation that asks for it.
	Operation string
	// Description says what was done, Reason why; both without a full stop.
	Description, Reason string
}

// dueRotations are the rotations whose period has passed since they were completed last, or since the shoot was
// created (docs/specification/versions.md#spec-4-5). Only what the gardenlet carries out is asked for, and reported:
// that is the SSH key pair (docs/deviations.md). A rotation that is under way already is not asked for again, and
// neither is any of a shoot whose last operation leaves nothing to ask for (operate).
func dueRotations(shoot *gardencorev1beta1.Shoot, now time.Time) []Rotation {
	last := shoot.Status.LastOperation
	if last == nil || last.State == gardencorev1beta1.LastOperationStateFailed {
		return nil
	}
	if shoot.Spec.Maintenance == nil || shoot.Spec.Maintenance.AutoRotation == nil ||
		shoot.Spec.Maintenance.AutoRotation.Credentials == nil {
		return nil
	}
	state := rotation.SSHKeypair(&shoot.Status)
	if !rotation.HasSSHKeypair(shoot) || rotation.IsPending(state) {
		return nil
	}
	var completed *metav1.Time
	if state != nil {
		completed = state.LastCompletionTime
	}
	if !periodPassed(shoot, shoot.Spec.Maintenance.AutoRotation.Credentials.SSHKeypair, completed, now) {
		return nil
	}
	return []Rotation{{
		Operation:   constants.ShootOperationRotateSSHKeypair,
		Description: "SSH keypair rotation requested", Reason: "Automatic rotation of SSH keypair configured",
	}}
}

func periodPassed(shoot *gardencorev1beta1.Shoot, config *gardencorev1beta1.MaintenanceRotationConfig,
	completed *metav1.Time, now time.Time) bool {
	if config == nil || config.RotationPeriod == nil || config.RotationPeriod.Duration == 0 {
		return false
	}
	last := shoot.CreationTimestamp.Time
	if completed != nil {
		last = completed.Time
	}
	return last.Before(now.Add(-config.RotationPeriod.Duration))
}
