// Package rotation says which credentials of a shoot can be rotated, by which operation, and whether a rotation is
// under way (docs/specification/api.md#spec-1-12, docs/specification/versions.md#spec-4-5). Admission, maintenance and
// the gardenlet agree by it on what is accepted, asked for and done.
//
// It rotates nothing: that is package controlplane's.
package rotation

import (
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Operations are the rotations that are carried out.
func Operations() []string { return []string{constants.ShootOperationRotateSSHKeypair} }

// leftOut are the rotations of the API that are not carried out (docs/specification/README.md#spec-0-0;
// docs/deviations.md).
var leftOut = []string{
	constants.ShootOperationRotateCredentialsStart, constants.ShootOperationRotateCredentialsStartWithoutWorkersRollout,
	constants.ShootOperationRotateCredentialsComplete,
	constants.ShootOperationRotateCAStart, constants.ShootOperationRotateCAStartWithoutWorkersRollout,
	constants.ShootOperationRotateCAComplete,
	constants.ShootOperationRotateServiceAccountKeyStart,
	constants.ShootOperationRotateServiceAccountKeyStart + "-without-workers-rollout",
	constants.ShootOperationRotateServiceAccountKeyComplete,
	constants.ShootOperationRotateETCDEncryptionKey,
	constants.ShootOperationRotateETCDEncryptionKey + "-start",
	constants.ShootOperationRotateETCDEncryptionKey + "-complete",
	constants.ShootOperationRotateObservabilityCredentials,
}

// Refusal is why an operation cannot be asked for of a shoot, or "" if it can, or is no rotation.
func Refusal(shoot *gardencorev1beta1.Shoot, operation string) string {
	switch {
	case slices.Contains(leftOut, operation):
		return fmt.Sprintf("%q is not supported: of all credentials, only the SSH key pair of nodes can be rotated, by %s",
			operation, constants.ShootOperationRotateSSHKeypair)
	case operation == constants.ShootOperationRotateSSHKeypair && !HasSSHKeypair(shoot):
		return fmt.Sprintf("%q is not possible: the shoot has no nodes that can be reached by SSH", operation)
	}
	return ""
}

// HasSSHKeypair is whether nodes can be reached by SSH: unless that is switched off, where there are nodes.
func HasSSHKeypair(shoot *gardencorev1beta1.Shoot) bool {
	if len(shoot.Spec.Provider.Workers) == 0 {
		return false
	}
	settings := shoot.Spec.Provider.WorkersSettings
	return settings == nil || settings.SSHAccess == nil || settings.SSHAccess.Enabled
}

// SSHKeypair is the state of the rotation of the SSH key pair; nil if there was none.
func SSHKeypair(status *gardencorev1beta1.ShootStatus) *gardencorev1beta1.ShootSSHKeypairRotation {
	if status.Credentials == nil || status.Credentials.Rotation == nil {
		return nil
	}
	return status.Credentials.Rotation.SSHKeypair
}

// IsPending is whether a rotation has been initiated, and is not complete.
func IsPending(r *gardencorev1beta1.ShootSSHKeypairRotation) bool {
	return r != nil && r.LastInitiationTime != nil &&
		(r.LastCompletionTime == nil || r.LastCompletionTime.Before(r.LastInitiationTime))
}
