package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// reasonRollout is that of the event about pools that cannot be rolled.
const reasonRollout = "WorkersNotRolledOut"

// RolloutRequested reports whether somebody asked for worker pools to be rolled: the annotation
// gardener.cloud/operation lists rollout-workers=… among its operations (docs/specification/versions.md#spec-4-9). A
// wish for maintenance goes first.
func RolloutRequested(shoot *gardencorev1beta1.Shoot) bool {
	listed := requests(shoot)
	return !slices.Contains(listed, constants.ShootOperationMaintain) && slices.ContainsFunc(listed, rollout.IsRequest)
}

// rollsOut reports whether this run carries a request for rolled pools out. While a shoot moves, its nodes stay as they
// are: the request waits for the reconciliation after it.
func (o *Operation) rollsOut() bool {
	return RolloutRequested(o.Shoot) &&
		(o.running == gardencorev1beta1.LastOperationTypeReconcile || o.running == gardencorev1beta1.LastOperationTypeCreate)
}

// noteRollout says in the status which pools are rolled because somebody asked for it, and has them follow the
// rotations of credentials that they were left out of. It comes before the request is taken off: who dies in between
// notes it again.
func (o *Operation) noteRollout(ctx context.Context) error {
	if !o.rollsOut() {
		return nil
	}
	pools, unknown := rollout.Requested(o.Shoot, requests(o.Shoot))
	if len(unknown) > 0 {
		o.events.Event(o.Shoot, corev1.EventTypeWarning, reasonRollout,
			fmt.Sprintf("The shoot has no worker pool %s: nothing is rolled for it", strings.Join(unknown, ", ")))
	}
	if len(pools) == 0 {
		return nil
	}
	rolled, now := rollout.Replaceable(o.Shoot, pools), metav1.NewTime(o.Clock.Now())
	return o.patchStatus(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
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
