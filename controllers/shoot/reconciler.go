// Package shoot creates, reconciles and deletes the control planes of shoots on the gardenlet's seed. It does not
// move them: that is package migration's, which acts while lastOperation is Migrate or Restore.
package shoot

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reconciler runs the create, reconcile and delete flows.
type Reconciler struct {
	Factory *controlplane.Factory
	Runner  *run.Runner
	Cadence Cadence
	Cleanup Cleanup
}

// Cleanup empties a shoot before its control plane is deleted (docs/specification/cleanup.md#spec-6-1).
type Cleanup interface {
	// Tasks are to be done one after the other, while the shoot is awake.
	Tasks(*controlplane.Operation) []flow.Task
}

// busyRetry is when to look again at a shoot that another flow of this gardenlet works on.
const busyRetry = time.Second

// Reconcile brings one shoot's control plane on this seed in line with its specification.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	unlock, free := r.Factory.TryLock(request.NamespacedName)
	if !free {
		return reconcile.Result{RequeueAfter: busyRetry}, nil
	}
	defer unlock()
	o, err := r.Factory.Operation(ctx, log.FromContext(ctx), request.NamespacedName)
	if o == nil || err != nil {
		return reconcile.Result{}, err
	}
	if lifecycle.ResponsibleSeed(o.Shoot.Spec.SeedName, o.Shoot.Status.SeedName) != o.SeedName || ignored(o.Shoot) {
		return reconcile.Result{}, nil
	}
	if o.Stopped() {
		return reconcile.Result{RequeueAfter: lifecycle.StoppedRetry}, nil
	}
	// Whatever has failed, a migration included, that says so in the garden has woken us.
	if lifecycle.Stuck(o.Shoot) {
		if err := o.Cluster.ReportFailed(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	operation := lifecycle.OperationType(o.Shoot)
	if misplaced, err := r.misplaced(ctx, o, operation); misplaced || err != nil {
		return reconcile.Result{}, err
	}
	switch operation {
	case gardencorev1beta1.LastOperationTypeDelete:
		// What failed before the deletion does not stop it.
		if last := o.Shoot.Status.LastOperation; last != nil && last.Type == operation && lifecycle.Stuck(o.Shoot) {
			return reconcile.Result{}, nil
		}
		if wait := o.BackOff(); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		if !controllerutil.ContainsFinalizer(o.Shoot, constants.GardenerFinalizer) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, r.Runner.Run(ctx, o.Scope, deleteFlow(o, r.Cleanup))
	case gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeReconcile:
		if wait, confined := r.due(o, operation); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, r.reportConfined(ctx, o, confined, wait)
		}
		if err := hold(ctx, o); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, r.Runner.Run(ctx, o.Scope, reconcileFlow(o, operation))
	}
	return reconcile.Result{}, nil
}

// misplaced hands a shoot whose control plane is not here over to package migration, which restores it.
func (r *Reconciler) misplaced(ctx context.Context, o *controlplane.Operation,
	operation gardencorev1beta1.LastOperationType) (bool, error) {
	if operation != gardencorev1beta1.LastOperationTypeReconcile &&
		operation != gardencorev1beta1.LastOperationTypeDelete || !lifecycle.Created(o.Shoot) {
		return false, nil
	}
	misplaced, err := o.Ownership.Misplaced(ctx)
	if err != nil || !misplaced {
		return false, err
	}
	why := "The control plane is not on seed " + o.SeedName + ", which is responsible for it."
	return true, o.Ownership.AskForRestore(ctx, why)
}

func ignored(shoot *gardencorev1beta1.Shoot) bool {
	return shoot.Annotations[constants.ShootIgnore] == "true"
}

// hold gives the shoot its finalizer. The request for the run stays until the run has begun, which takes it off.
func hold(ctx context.Context, o *controlplane.Operation) error {
	return patch.LockedObject(ctx, o.Garden, o.Shoot, func() {
		controllerutil.AddFinalizer(o.Shoot, constants.GardenerFinalizer)
	})
}
