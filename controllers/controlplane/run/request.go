package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/rollout"
	"github.com/transplant-sim/transplant/controllers/rotation"
)

// takeRequest takes the request for this run off the shoot, and leaves operations that are others' affair: a request
// that stayed would ask for the next run, too. It comes after Begin, so that who dies in between has lost no request. A
// forced in-place update is for one change of the specification: the run that carries a change out takes it off
// (docs/specification/api.md#spec-1-12, docs/specification/versions.md#spec-4-9). A request for rolled pools is noted
// where the nodes' keys are made of it, in the same patch; one for a rotation is noted in the status already.
func (s *Status) takeRequest(ctx context.Context, carriesOut bool) error {
	requested, rolls, rotates, before := lifecycle.Requested(s.Shoot), s.rollsOut(), s.rotates(), s.Shoot.DeepCopy()
	listed := lifecycle.Requests(s.Shoot)
	left := slices.DeleteFunc(slices.Clone(listed), func(operation string) bool {
		switch operation {
		case constants.ShootOperationReconcile, constants.ShootOperationRetry:
			return requested
		case constants.ShootOperationForceInPlaceUpdate:
			return carriesOut
		case constants.ShootOperationRotateSSHKeypair:
			return rotates
		}
		return rolls && rollout.IsRequest(operation)
	})
	if len(left) == len(listed) {
		return nil
	}
	if rolls {
		pools, _ := rollout.Requested(s.Shoot, listed)
		if err := rollout.Note(s.Shoot, rollout.Replaceable(s.Shoot, pools), s.Clock.Now()); err != nil {
			return fmt.Errorf("note on shoot %q that pools are rolled: %w", client.ObjectKeyFromObject(before), err)
		}
	}
	if len(left) == 0 {
		delete(s.Shoot.Annotations, constants.GardenerOperation)
	} else {
		s.Shoot.Annotations[constants.GardenerOperation] = strings.Join(left, constants.OperationsSeparator)
	}
	asked := s.Clock.Now()
	if err := s.Garden.Patch(ctx, s.Shoot, patch.AsRead(before)); err != nil {
		return fmt.Errorf("take the request off shoot %q: %w", client.ObjectKeyFromObject(before), err)
	}
	_ = s.answered(s.Shoot, asked) // the next read says so, too
	return nil
}

// reasonRollout is that of the event about pools that cannot be rolled.
const reasonRollout = "WorkersNotRolledOut"

// rollsOut reports whether this run carries a request for rolled pools out. While a shoot moves, its nodes stay as they
// are: the request waits for the reconciliation after it.
func (s *Status) rollsOut() bool {
	return lifecycle.RolloutRequested(s.Shoot) &&
		(s.Running == gardencorev1beta1.LastOperationTypeReconcile || s.Running == gardencorev1beta1.LastOperationTypeCreate)
}

// noteRollout says in the status which pools are rolled because somebody asked for it, and has them follow the
// rotations of credentials that they were left out of. It comes before the request is taken off: who dies in between
// notes it again.
func (s *Status) noteRollout(ctx context.Context) error {
	if !s.rollsOut() {
		return nil
	}
	pools, unknown := rollout.Requested(s.Shoot, lifecycle.Requests(s.Shoot))
	if len(unknown) > 0 {
		s.Events.Event(s.Shoot, corev1.EventTypeWarning, reasonRollout,
			fmt.Sprintf("The shoot has no worker pool %s: nothing is rolled for it", strings.Join(unknown, ", ")))
	}
	if len(pools) == 0 {
		return nil
	}
	rolled, now := rollout.Replaceable(s.Shoot, pools), metav1.NewTime(s.Clock.Now())
	return s.PatchAsRead(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		followRotations(status, pools)
		status.ManualWorkerPoolRollout = rollingToo(status.ManualWorkerPoolRollout, rolled, now)
	})
}

// followRotations takes pools off the lists of those whose nodes do not follow a rotation yet.
func followRotations(status *gardencorev1beta1.ShootStatus, pools []string) {
	if status.Credentials == nil || status.Credentials.Rotation == nil {
		return
	}
	if r := status.Credentials.Rotation.CertificateAuthorities; r != nil {
		r.PendingWorkersRollouts = without(r.PendingWorkersRollouts, pools)
	}
	if r := status.Credentials.Rotation.ServiceAccountKey; r != nil {
		r.PendingWorkersRollouts = without(r.PendingWorkersRollouts, pools)
	}
}

func without(pending []gardencorev1beta1.PendingWorkersRollout,
	pools []string) []gardencorev1beta1.PendingWorkersRollout {
	return slices.DeleteFunc(pending, func(p gardencorev1beta1.PendingWorkersRollout) bool {
		return slices.Contains(pools, p.Name)
	})
}

func rollingToo(before *gardencorev1beta1.ManualWorkerPoolRollout, pools []string,
	now metav1.Time) *gardencorev1beta1.ManualWorkerPoolRollout {
	if len(pools) == 0 {
		return before
	}
	after := &gardencorev1beta1.ManualWorkerPoolRollout{}
	if before != nil {
		after.PendingWorkersRollouts = without(before.PendingWorkersRollouts, pools)
	}
	for _, pool := range pools {
		after.PendingWorkersRollouts = append(after.PendingWorkersRollouts,
			gardencorev1beta1.PendingWorkersRollout{Name: pool, LastInitiationTime: &now})
	}
	return after
}

// RolledOut says in the status that no pool is rolled by request any more: for the end of a flow that has waited for
// the worker pools.
func RolledOut(status *gardencorev1beta1.ShootStatus) { status.ManualWorkerPoolRollout = nil }

// reasonRotation is that of the event about a rotation that is not possible.
const reasonRotation = "CredentialsNotRotated"

// rotates reports whether this run initiates the rotation that somebody asked for. A shoot that moves keeps its
// credentials: the request waits for the reconciliation after it.
func (s *Status) rotates() bool { return lifecycle.RotationRequested(s.Shoot) && s.MayRotate() }

// noteRotation says in the status that the rotation has been initiated. It comes before the request is taken off: a
// gardenlet that dies in between notes it again. A rotation that is under way is not begun anew.
func (s *Status) noteRotation(ctx context.Context) error {
	if !s.rotates() {
		return nil
	}
	if refusal := rotation.Refusal(s.Shoot, constants.ShootOperationRotateSSHKeypair); refusal != "" {
		s.Events.Event(s.Shoot, corev1.EventTypeWarning, reasonRotation, refusal)
		return nil
	}
	last := rotation.SSHKeypair(&s.Shoot.Status)
	if rotation.IsPending(last) {
		return nil
	}
	now := metav1.NewTime(s.Clock.Now()).Rfc3339Copy()
	// Only what was initiated after the last completion is under way. Times on the wire have whole seconds, and the last
	// completion may be of another seed's clock.
	if last != nil && last.LastCompletionTime != nil && !last.LastCompletionTime.Before(&now) {
		now = metav1.NewTime(last.LastCompletionTime.Add(time.Second))
	}
	return s.PatchAsRead(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		credentials := cmp.Or(status.Credentials, &gardencorev1beta1.ShootCredentials{})
		credentials.Rotation = cmp.Or(credentials.Rotation, &gardencorev1beta1.ShootCredentialsRotation{})
		ssh := cmp.Or(credentials.Rotation.SSHKeypair, &gardencorev1beta1.ShootSSHKeypairRotation{})
		ssh.LastInitiationTime = &now
		credentials.Rotation.SSHKeypair, status.Credentials = ssh, credentials
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
