// Package migration moves control planes from seed to seed: the source's and the destination's part of a planned
// migration (docs/specification/migration.md), the ShootState kept in sync, the hand-over of backups, what is left to
// do on the source afterwards, and what happens when the source is lost
// (docs/ownership.md#spec-9-3, docs/ownership.md#spec-9-4).
//
// Creating, reconciling and deleting shoots is package shoot's; who owns a shoot is package ownership's.
package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reconciler runs the migrate flow on the source seed and the restore flow on the destination.
type Reconciler struct {
	Factory *controlplane.Factory
	Runner  *run.Runner
	Release Releaser
}

// Releaser speaks with a guard about the end of its epoch.
type Releaser interface {
	// Release has it end the epoch, as the last step of the owner (docs/ownership.md#o11): clients stopped, holders
	// revoked, final snapshot in the bucket.
	Release(ctx context.Context, guard etcd.Guard, epoch int64) error
	// AwaitEnd waits until it has done the same because another owner has ended the epoch (docs/ownership.md#o3).
	AwaitEnd(ctx context.Context, guard etcd.Guard, epoch int64) error
}

// busyRetry is when to look again at a shoot that another flow of this gardenlet works on.
const busyRetry = time.Second

// Reconcile does this seed's part of a migration that is under way.
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
	if lifecycle.ResponsibleSeed(o.Shoot.Spec.SeedName, o.Shoot.Status.SeedName) != o.SeedName ||
		o.Shoot.Annotations[constants.ShootIgnore] == constants.LabelTrue {
		return reconcile.Result{}, nil
	}
	if o.Stopped() {
		return reconcile.Result{RequeueAfter: lifecycle.StoppedRetry}, nil
	}
	switch lifecycle.OperationType(o.Shoot) {
	case gardencorev1beta1.LastOperationTypeMigrate:
		if ptr.Deref(o.Shoot.Spec.SeedName, "") == o.SeedName {
			return reconcile.Result{}, abort(ctx, o, "is called off: the shoot is bound to its source again")
		}
		if wait := o.BackOff(); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		// The constraint is the garden's word that the destination can take the shoot
		// (docs/specification/migration.md#spec-2-4). Its change wakes us.
		if lifecycle.Stuck(o.Shoot) {
			return reconcile.Result{}, nil
		}
		if !lifecycle.ReadyForMigration(o.Shoot) {
			return reconcile.Result{}, callOff(ctx, o)
		}
		return reconcile.Result{}, r.Runner.Run(ctx, o.Scope, r.migrateFlow(o))
	case gardencorev1beta1.LastOperationTypeRestore:
		if lifecycle.Stuck(o.Shoot) {
			return reconcile.Result{}, nil
		}
		if wait := o.BackOff(); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		return reconcile.Result{}, r.Runner.Run(ctx, o.Scope, r.restoreFlow(o))
	}
	return reconcile.Result{}, nil
}

// callOff says that nobody is at work on a hand-over whose run has ended without a word, or on a restore that was cut
// off for one, and that is not begun anew for the sake of its destination. Otherwise nobody would choose another one if
// that is lost. The caller holds the shoot's lock: no run of this gardenlet is alive.
func callOff(ctx context.Context, o *controlplane.Operation) error {
	last := o.Shoot.Status.LastOperation
	if last == nil || last.State != gardencorev1beta1.LastOperationStateProcessing ||
		last.Type != gardencorev1beta1.LastOperationTypeMigrate && last.Type != gardencorev1beta1.LastOperationTypeRestore {
		return nil
	}
	return abort(ctx, o, "was interrupted, and its destination is not ready")
}

// abort ends a hand-over that has begun. A source that the shoot is bound to again then restores it, in a new epoch if
// its own has ended (docs/ownership.md#o11).
func abort(ctx context.Context, o *controlplane.Operation, why string) error {
	if err := patch.LockedStatus(ctx, o.Garden, o.Shoot, func() {
		last := o.Shoot.Status.LastOperation
		last.Type, last.State, last.LastUpdateTime = gardencorev1beta1.LastOperationTypeMigrate,
			gardencorev1beta1.LastOperationStateAborted, metav1.NewTime(o.Clock.Now())
		last.Description = fmt.Sprintf("The migration %s, at %d %%: %s", why, last.Progress, last.Description)
	}); err != nil {
		return fmt.Errorf("abort the migration of shoot %q: %w", client.ObjectKeyFromObject(o.Shoot), err)
	}
	return nil
}

// errNoEtcd says that the source has nothing to hand over.
var errNoEtcd = errors.New("the shoot's etcd does not exist on its source seed")
