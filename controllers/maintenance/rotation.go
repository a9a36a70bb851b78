package maintenance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Rotation is a rotation of credentials that is due.
type Rotation struct {
	// Operation is the operation that starts it.
	Operation string
	// Description says what was done, Reason why; both without a full stop.
	Description, Reason string
	// Failed is whether it cannot be started.
	Failed bool
}

// dueRotations are the rotations whose period has passed since they were completed last, or since the shoot was
// created (SPEC 4.5).
func dueRotations(shoot *gardencorev1beta1.Shoot, now time.Time) []Rotation {
	if shoot.Spec.Maintenance == nil || shoot.Spec.Maintenance.AutoRotation == nil || shoot.Spec.Maintenance.AutoRotation.Credentials == nil {
		return nil
	}
	var rotations []Rotation
	credentials := shoot.Spec.Maintenance.AutoRotation.Credentials
	past := func(config *gardencorev1beta1.MaintenanceRotationConfig, completed *metav1.Time) bool {
		return periodPassed(shoot, config, completed, now)
	}
	status := rotationStatus(shoot)
	if sshEnabled(shoot) && past(credentials.SSHKeypair, status.ssh) {
		rotations = append(rotations, Rotation{
			Operation:   constants.ShootOperationRotateSSHKeypair,
			Description: "SSH keypair rotation started", Reason: "Automatic rotation of SSH keypair configured",
		})
	}
	if past(credentials.Observability, status.observability) {
		rotations = append(rotations, Rotation{
			Operation:   constants.ShootOperationRotateObservabilityCredentials,
			Description: "Observability passwords rotation started", Reason: "Automatic rotation of observability passwords configured",
		})
	}
	if !hibernated(shoot) && past(credentials.ETCDEncryptionKey, status.etcd) {
		rotations = append(rotations, rotateETCDEncryptionKey(status.etcdPhase))
	}
	return rotations
}

// rotateETCDEncryptionKey cannot be started before the previous rotation is completed.
func rotateETCDEncryptionKey(phase gardencorev1beta1.CredentialsRotationPhase) Rotation {
	rotation := Rotation{Operation: constants.ShootOperationRotateETCDEncryptionKey}
	if phase == "" || phase == gardencorev1beta1.RotationCompleted {
		rotation.Description, rotation.Reason = "ETCD encryption key rotation started", "Automatic rotation of etcd encryption key configured"
		return rotation
	}
	rotation.Failed = true
	rotation.Description, rotation.Reason = "Could not start ETCD encryption key rotation", "ETCD encryption key rotation is already in progress"
	return rotation
}

// completions are when credentials were rotated last.
type completions struct {
	ssh, observability, etcd *metav1.Time
	etcdPhase                gardencorev1beta1.CredentialsRotationPhase
}

func rotationStatus(shoot *gardencorev1beta1.Shoot) completions {
	var c completions
	if shoot.Status.Credentials == nil || shoot.Status.Credentials.Rotation == nil {
		return c
	}
	rotation := shoot.Status.Credentials.Rotation
	if rotation.SSHKeypair != nil {
		c.ssh = rotation.SSHKeypair.LastCompletionTime
	}
	if rotation.Observability != nil {
		c.observability = rotation.Observability.LastCompletionTime
	}
	if rotation.ETCDEncryptionKey != nil {
		c.etcd, c.etcdPhase = rotation.ETCDEncryptionKey.LastCompletionTime, rotation.ETCDEncryptionKey.Phase
	}
	return c
}

func periodPassed(shoot *gardencorev1beta1.Shoot, config *gardencorev1beta1.MaintenanceRotationConfig, completed *metav1.Time, now time.Time) bool {
	if config == nil || config.RotationPeriod == nil || config.RotationPeriod.Duration == 0 {
		return false
	}
	last := shoot.CreationTimestamp.Time
	if completed != nil {
		last = completed.Time
	}
	return last.Before(now.Add(-config.RotationPeriod.Duration))
}

// sshEnabled is whether the nodes can be reached by SSH: unless it is switched off, where there are nodes.
func sshEnabled(shoot *gardencorev1beta1.Shoot) bool {
	if len(shoot.Spec.Provider.Workers) == 0 {
		return false
	}
	settings := shoot.Spec.Provider.WorkersSettings
	return settings == nil || settings.SSHAccess == nil || settings.SSHAccess.Enabled
}

func hibernated(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Status.IsHibernated || shoot.Spec.Hibernation != nil && shoot.Spec.Hibernation.Enabled != nil && *shoot.Spec.Hibernation.Enabled
}
