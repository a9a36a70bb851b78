package controlplane

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

const (
	// labelRotated of a secret is when the rotation was initiated that has made it, in seconds.
	labelRotated = "last-rotation-initiation-time"
	// suffixOld of a secret's name names the one that was in use before its last rotation.
	suffixOld = ".old"
	// reasonRotation is that of the event about a rotation that is not possible.
	reasonRotation = "CredentialsNotRotated"
)

// RotationRequested reports whether somebody asked for credentials to be rotated (docs/specification/api.md#spec-1-12).
// A wish for maintenance goes first.
func RotationRequested(shoot *gardencorev1beta1.Shoot) bool {
	return asked(shoot, rotation.Operations()...)
}

// rotates reports whether this run initiates the rotation that somebody asked for. A shoot that moves keeps its
// credentials: the request waits for the reconciliation after it.
func (o *Operation) rotates() bool { return RotationRequested(o.Shoot) && o.mayRotate() }

func (o *Operation) mayRotate() bool {
	return o.running == gardencorev1beta1.LastOperationTypeReconcile ||
		o.running == gardencorev1beta1.LastOperationTypeCreate
}

// noteRotation says in the status that the rotation has been initiated. It comes before the request is taken off: a
// gardenlet that dies in between notes it again. A rotation that is under way is not begun anew.
func (o *Operation) noteRotation(ctx context.Context) error {
	if !o.rotates() {
		return nil
	}
	if refusal := rotation.Refusal(o.Shoot, constants.ShootOperationRotateSSHKeypair); refusal != "" {
		o.events.Event(o.Shoot, corev1.EventTypeWarning, reasonRotation, refusal)
		return nil
	}
	last := rotation.SSHKeypair(&o.Shoot.Status)
	if rotation.IsPending(last) {
		return nil
	}
	now := metav1.NewTime(o.Clock.Now()).Rfc3339Copy()
	// Only what was initiated after the last completion is under way. Times on the wire have whole seconds, and the last
	// completion may be of another seed's clock.
	if last != nil && last.LastCompletionTime != nil && !last.LastCompletionTime.Before(&now) {
		now = metav1.NewTime(last.LastCompletionTime.Add(time.Second))
	}
	return o.patchStatus(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		if status.Credentials == nil {
			status.Credentials = &gardencorev1beta1.ShootCredentials{}
		}
		if status.Credentials.Rotation == nil {
			status.Credentials.Rotation = &gardencorev1beta1.ShootCredentialsRotation{}
		}
		if status.Credentials.Rotation.SSHKeypair == nil {
			status.Credentials.Rotation.SSHKeypair = &gardencorev1beta1.ShootSSHKeypairRotation{}
		}
		status.Credentials.Rotation.SSHKeypair.LastInitiationTime = &now
	})
}

// RotationsCompleted says in the status that the rotation which was under way is complete: for the end of a flow that
// has made the secrets, and everything that is made of them.
func RotationsCompleted(status *gardencorev1beta1.ShootStatus, now metav1.Time) {
	ssh := rotation.SSHKeypair(status)
	if !rotation.IsPending(ssh) {
		return
	}
	if now = now.Rfc3339Copy(); now.Before(ssh.LastInitiationTime) {
		now = *ssh.LastInitiationTime // of a clock that is ahead: an earlier time would leave the rotation under way
	}
	ssh.LastCompletionTime = &now
}

// sshRotation is the label of an SSH key pair that the rotation which is under way has made; "" if none is.
func (o *Operation) sshRotation() string {
	ssh := rotation.SSHKeypair(&o.Shoot.Status)
	if !o.mayRotate() || !rotation.IsPending(ssh) {
		return ""
	}
	return strconv.FormatInt(ssh.LastInitiationTime.Unix(), 10)
}

// rotateSecret keeps what a secret holds in another one, and makes it anew. The old one is written first: a gardenlet
// that dies in between finds the secret as it was, and writes the same old one again.
func (o *Operation) rotateSecret(
	ctx context.Context, secret *corev1.Secret, spec secretSpec, set *secretSet,
) (map[string][]byte, error) {
	before := secret.DeepCopy()
	old := &corev1.Secret{ObjectMeta: o.meta(spec.name + suffixOld)}
	if err := createOrPatch(ctx, o.Seed, old, func(old *corev1.Secret) error {
		old.Labels, old.Type, old.Data = before.Labels, before.Type, before.Data
		return nil
	}); err != nil {
		return nil, err
	}
	data, err := spec.make(set)
	if err != nil {
		return nil, fmt.Errorf("rotate secret %q: %w", spec.name, err)
	}
	secret.Data = data
	metav1.SetMetaDataLabel(&secret.ObjectMeta, labelRotated, spec.rotation)
	if err := o.Seed.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("rotate secret %q: %w", spec.name, err)
	}
	return data, nil
}
