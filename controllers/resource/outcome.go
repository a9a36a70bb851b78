package resource

import (
	"context"
	"errors"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// outcome is what came of one round.
type outcome struct {
	generation                   int64
	wanted, kept                 []resourcesv1alpha1.ObjectReference
	checksum                     string
	undecodable                  []error
	applying, releasing, pruning error
	// refused is whether a deletion failed, not only that it takes its time.
	refused bool
}

// condition is ResourcesApplied as it follows from the round; the worst comes first.
func (o outcome) condition() gardencorev1beta1.Condition {
	switch {
	case o.applying != nil:
		return applied(gardencorev1beta1.ConditionFalse, reasonApplyFailed,
			errors.Join(append(o.undecodable, o.applying)...).Error())
	case len(o.undecodable) > 0:
		return applied(gardencorev1beta1.ConditionFalse, reasonDecodingFailed, "Could not decode all resources: "+
			errors.Join(o.undecodable...).Error())
	case o.releasing != nil:
		return applied(gardencorev1beta1.ConditionFalse, reasonReleaseFailed, o.releasing.Error())
	case o.refused:
		return applied(gardencorev1beta1.ConditionFalse, reasonDeletionFailed, o.pruning.Error())
	case o.pruning != nil:
		return applied(gardencorev1beta1.ConditionProgressing, reasonDeletionPending, o.pruning.Error())
	}
	return applied(gardencorev1beta1.ConditionTrue, reasonApplySucceeded, "All resources are applied.")
}

// retry is the error for which the round is repeated soon. What cannot be decoded waits for the Secret to change.
func (o outcome) retry() error {
	if o.refused {
		return errors.Join(o.applying, o.releasing, o.pruning)
	}
	return errors.Join(o.applying, o.releasing)
}

// conclude writes what came of a round. The generation counts as observed only when all that can be applied was.
func (r *Reconciler) conclude(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, round outcome,
	w *work) (reconcile.Result, error) {
	conditions, retry := []gardencorev1beta1.Condition{round.condition()}, round.retry()
	wait := r.SyncPeriod
	if round.pruning != nil {
		wait = r.PollPeriod
	}
	if round.applying == nil {
		unhealthy, unfinished, err := r.look(ctx, w.wanted)
		if err != nil {
			retry = errors.Join(retry, err)
		} else {
			conditions = append(conditions, healthOf(unhealthy), progressOf(unfinished))
		}
		if unhealthy != nil || unfinished != nil {
			wait = r.PollPeriod
		}
	}
	err := r.patchStatus(ctx, managed, func(status *resourcesv1alpha1.ManagedResourceStatus) {
		r.setConditions(status, conditions...)
		status.Resources = sorted(append(slices.Clone(round.wanted), round.kept...))
		if retry == nil {
			status.SecretsDataChecksum = ptr.To(round.checksum)
			status.ObservedGeneration = round.generation
		}
	})
	if err := errors.Join(retry, err); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

func healthOf(unhealthy *finding) gardencorev1beta1.Condition {
	if unhealthy != nil {
		return healthy(gardencorev1beta1.ConditionFalse, unhealthy.reason, unhealthy.message)
	}
	return healthy(gardencorev1beta1.ConditionTrue, reasonHealthy, "All resources are healthy.")
}

func progressOf(unfinished *finding) gardencorev1beta1.Condition {
	if unfinished != nil {
		return progressing(gardencorev1beta1.ConditionTrue, unfinished.reason, unfinished.message)
	}
	return progressing(gardencorev1beta1.ConditionFalse, reasonRolledOut, "All resources have been fully rolled out.")
}
