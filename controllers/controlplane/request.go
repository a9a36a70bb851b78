package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// Requested reports whether somebody asked for a run: the annotation gardener.cloud/operation lists reconcile or retry
// among its operations. A wish for maintenance goes first, and asks for a run in turn; other operations are other
// controllers' affair.
func Requested(shoot *gardencorev1beta1.Shoot) bool {
	return asked(shoot, constants.ShootOperationReconcile, constants.ShootOperationRetry)
}

// Stuck reports whether the operation has failed for good, and nobody has changed the shoot or asked for another try
// since (docs/specification/migration.md#spec-2-5).
func Stuck(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && last.State == gardencorev1beta1.LastOperationStateFailed &&
		shoot.Status.ObservedGeneration == shoot.Generation && !asked(shoot, constants.ShootOperationRetry)
}

func asked(shoot *gardencorev1beta1.Shoot, operations ...string) bool {
	listed := requests(shoot)
	return !slices.Contains(listed, constants.ShootOperationMaintain) &&
		slices.ContainsFunc(listed, func(operation string) bool { return slices.Contains(operations, operation) })
}

// requests are the operations that the annotation lists.
func requests(shoot *gardencorev1beta1.Shoot) []string {
	listed := strings.Split(shoot.Annotations[constants.GardenerOperation], constants.OperationsSeparator)
	for i := range listed {
		listed[i] = strings.TrimSpace(listed[i])
	}
	return slices.DeleteFunc(listed, func(operation string) bool { return operation == "" })
}

// takeRequest takes the request for this run off the shoot, and leaves operations that are others' affair: a request
// that stayed would ask for the next run, too. It comes after Begin, so that who dies in between has lost no request. A
// forced in-place update is for one change of the specification: the run that carries a change out takes it off
// (docs/specification/api.md#spec-1-12, docs/specification/versions.md#spec-4-9). A request for rolled pools is noted
// where the nodes' keys are made of it, in the same patch; one for a rotation is noted in the status already.
func (o *Operation) takeRequest(ctx context.Context, carriesOut bool) error {
	requested, rolls, rotates, before := Requested(o.Shoot), o.rollsOut(), o.rotates(), o.Shoot.DeepCopy()
	listed := requests(o.Shoot)
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
		pools, _ := rollout.Requested(o.Shoot, listed)
		if err := rollout.Note(o.Shoot, rollout.Replaceable(o.Shoot, pools), o.Clock.Now()); err != nil {
			return fmt.Errorf("note on shoot %q that pools are rolled: %w", client.ObjectKeyFromObject(before), err)
		}
	}
	if len(left) == 0 {
		delete(o.Shoot.Annotations, constants.GardenerOperation)
	} else {
		o.Shoot.Annotations[constants.GardenerOperation] = strings.Join(left, constants.OperationsSeparator)
	}
	if err := o.Garden.Patch(ctx, o.Shoot,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("take the request off shoot %q: %w", client.ObjectKeyFromObject(before), err)
	}
	return nil
}
