// Package migration moves control planes from seed to seed: the source's and the destination's part of a planned
// migration (SPEC 2.6, 2.9), the ShootState kept in sync (2.8), the hand-over of backups (2.7), what is left to
// do on the source afterwards, and what happens when the source is lost (9.3, 9.4).
//
// Creating, reconciling and deleting shoots is package shoot's; who owns a shoot is package ownership's.
package migration

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// Reconciler runs the migrate flow on the source seed and the restore flow on the destination.
type Reconciler struct {
	Factory *controlplane.Factory
	Runner  *controlplane.Runner
	Release Releaser
}

// Releaser ends an epoch for good, as the last step of its owner (SPEC 9.2, O11).
type Releaser interface {
	// Release has the guard at the URL end the epoch: clients stopped, holders revoked, final snapshot in the bucket.
	Release(ctx context.Context, guardURL string, epoch int64) error
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
	if controlplane.ResponsibleSeed(o.Shoot.Spec.SeedName, o.Shoot.Status.SeedName) != o.SeedName || o.Shoot.Annotations[constants.ShootIgnore] == constants.LabelTrue {
		return reconcile.Result{}, nil
	}
	switch controlplane.OperationType(o.Shoot) {
	case gardencorev1beta1.LastOperationTypeMigrate:
		if wait := controlplane.BackOff(o); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		// The constraint is the garden's word that the destination can take the shoot (SPEC 2.4). Its change wakes us.
		if controlplane.Stuck(o.Shoot) || !readyForMigration(o.Shoot) {
			return reconcile.Result{}, nil
		}
		return again(r.Runner.Run(ctx, o, r.migrateFlow(o)))
	case gardencorev1beta1.LastOperationTypeRestore:
		if controlplane.Stuck(o.Shoot) {
			return reconcile.Result{}, nil
		}
		if wait := controlplane.BackOff(o); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		return again(r.Runner.Run(ctx, o, r.restoreFlow(o)))
	}
	return reconcile.Result{}, nil
}

// again leaves the periodic look to package shoot.
func again(_ reconcile.Result, err error) (reconcile.Result, error) { return reconcile.Result{}, err }

func readyForMigration(shoot *gardencorev1beta1.Shoot) bool {
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootReadyForMigration {
			return constraint.Status == gardencorev1beta1.ConditionTrue
		}
	}
	return false
}

// errNoEtcd says that the source has nothing to hand over.
var errNoEtcd = errors.New("the shoot's etcd does not exist on its source seed")
