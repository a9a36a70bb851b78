package resource

import (
	"context"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// remove releases a ManagedResource: its objects are deleted first, unless they are to stay. To leave them needs no
// answer of the shoot, which may be on its way elsewhere.
func (r *Reconciler) remove(ctx context.Context, managed *resourcesv1alpha1.ManagedResource) (reconcile.Result, error) {
	if !ptr.Deref(managed.Spec.KeepObjects, false) {
		gone, err := r.prune(ctx, managed, managed.Status.Resources)
		if err != nil {
			return r.deleting(ctx, managed, gone, err)
		}
	}
	return reconcile.Result{}, client.IgnoreNotFound(patch.LockedObject(ctx, r.Source, managed, func() {
		controllerutil.RemoveFinalizer(managed, r.finalizer())
	}))
}

// deleting writes what is left to delete, and looks again.
func (r *Reconciler) deleting(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, gone pruned,
	why error) (reconcile.Result, error) {
	condition := applied(gardencorev1beta1.ConditionProgressing, reasonDeletionPending, why.Error())
	if gone.failed {
		condition = applied(gardencorev1beta1.ConditionFalse, reasonDeletionFailed, why.Error())
	}
	const message = "The resources are being deleted."
	err := r.patchStatus(ctx, managed, func(status *resourcesv1alpha1.ManagedResourceStatus) {
		status.Resources = gone.left
		r.setConditions(status, condition,
			healthy(gardencorev1beta1.ConditionFalse, reasonDeletionPending, message),
			progressing(gardencorev1beta1.ConditionTrue, reasonDeletionPending, message))
	})
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case gone.failed:
		return reconcile.Result{}, why
	}
	return reconcile.Result{RequeueAfter: r.PollPeriod}, nil
}
