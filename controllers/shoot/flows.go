// Package shoot creates, reconciles and deletes the control planes of shoots on the gardenlet's seed. It does not
// move them: that is package migration's, which acts while lastOperation is Migrate or Restore.
package shoot

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Flows are those of a shoot that does not move.
type Flows struct {
	Cadence Cadence
	Cleanup Cleanup
}

// Cleanup empties a shoot before its control plane is deleted (docs/specification/cleanup.md#spec-6-1).
type Cleanup interface {
	// Tasks are to be done one after the other, while the shoot is awake.
	Tasks(*controlplane.Operation) []flow.Task
}

// Reconcile returns the flow that creates or reconciles a control plane, if it is due.
func (f *Flows) Reconcile(ctx context.Context, o *controlplane.Operation) (*run.Flow, time.Duration, error) {
	if elsewhere, err := misplaced(ctx, o); elsewhere || err != nil {
		return nil, 0, err
	}
	operation := lifecycle.OperationType(o.Shoot)
	if wait, confined := f.due(o, operation); wait > 0 {
		return nil, wait, reportConfined(ctx, o, confined, wait)
	}
	// The request for the run stays until the run has begun, which takes it off.
	err := patch.LockedObject(ctx, o.Garden, o.Shoot, func() {
		controllerutil.AddFinalizer(o.Shoot, constants.GardenerFinalizer)
	})
	return reconcileFlow(o, operation), 0, err
}

// Delete returns the flow that deletes a control plane, unless an attempt has failed for good, or just now. What failed
// before the deletion does not stop it.
func (f *Flows) Delete(ctx context.Context, o *controlplane.Operation) (*run.Flow, time.Duration, error) {
	if elsewhere, err := misplaced(ctx, o); elsewhere || err != nil {
		return nil, 0, err
	}
	last, wait := o.Shoot.Status.LastOperation, o.BackOff()
	failed := last != nil && last.Type == gardencorev1beta1.LastOperationTypeDelete && lifecycle.Stuck(o.Shoot)
	if failed || wait > 0 || !controllerutil.ContainsFinalizer(o.Shoot, constants.GardenerFinalizer) {
		return nil, wait, nil
	}
	return deleteFlow(o, f.Cleanup), 0, nil
}

// misplaced hands a shoot whose control plane is not here over to package migration, which restores it.
func misplaced(ctx context.Context, o *controlplane.Operation) (bool, error) {
	if !lifecycle.Created(o.Shoot) {
		return false, nil
	}
	misplaced, err := o.Ownership.Misplaced(ctx)
	if foreign, is := errors.AsType[*owner.ForeignError](err); is {
		return true, reportForeign(ctx, o, foreign)
	}
	if err != nil || !misplaced {
		return false, err
	}
	why := "The control plane is not on seed " + o.SeedName + ", which is responsible for it."
	return true, o.Ownership.AskForRestore(ctx, why)
}

// reportForeign shows that another seed has the shoot. It is looked at again when somebody has changed the shoot.
func reportForeign(ctx context.Context, o *controlplane.Operation, foreign *owner.ForeignError) error {
	last, why := o.Shoot.Status.LastOperation, foreign.Error()
	if last != nil && last.State == gardencorev1beta1.LastOperationStateError && last.Description == why {
		return nil
	}
	return patch.LockedStatus(ctx, o.Garden, o.Shoot, func() {
		now := metav1.NewTime(o.Clock.Now())
		o.Shoot.Status.LastErrors = []gardencorev1beta1.LastError{{Description: why, LastUpdateTime: &now}}
		o.Shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: lifecycle.OperationType(o.Shoot),
			State: gardencorev1beta1.LastOperationStateError, Description: why, LastUpdateTime: now}
	})
}

// reconcileFlow creates or reconciles a control plane.
func reconcileFlow(o *controlplane.Operation, operation gardencorev1beta1.LastOperationType) *run.Flow {
	return &run.Flow{
		Type:          operation,
		Initialized:   "Reconciliation of Shoot cluster initialized.",
		Succeeded:     "Shoot cluster has been successfully reconciled.",
		ReasonStarted: "Reconciling", ReasonEnded: "Reconciled", ReasonError: "ReconcileError",
		Work: func(ctx context.Context, reporter *run.Reporter) error {
			if err := clearTheGround(ctx, o, operation); err != nil {
				return err
			}
			if err := o.Cluster.Sync(ctx); err != nil {
				return err
			}
			if err := o.Ownership.Hold(ctx); err != nil {
				return err
			}
			return o.ReconcileGraph().Run(ctx, reporter)
		},
		Consumes: []string{constants.ShootSkipReadiness, constants.ShootTasks},
		Finish: func(status *gardencorev1beta1.ShootStatus) {
			status.SeedName = &o.SeedName
			status.IsHibernated = o.Hibernated()
			run.RolledOut(status)
			run.RotationsCompleted(status, metav1.NewTime(o.Clock.Now()))
		},
	}
}

// clearTheGround removes what an earlier shoot of the same name has left on this seed, before a new one takes its
// secrets and machines for its own.
func clearTheGround(ctx context.Context, o *controlplane.Operation,
	operation gardencorev1beta1.LastOperationType) error {
	if operation != gardencorev1beta1.LastOperationTypeCreate {
		return nil
	}
	here, err := o.Ownership.Survey(ctx)
	if err != nil {
		return err
	}
	left, err := here.HasLeftovers(ctx)
	if err != nil || !left {
		return err
	}
	return o.Leftovers.Remove(ctx)
}

// deleteFlow deletes a control plane and everything the shoot has in the cloud.
func deleteFlow(o *controlplane.Operation, cleanup Cleanup) *run.Flow {
	return &run.Flow{
		Type:          gardencorev1beta1.LastOperationTypeDelete,
		Initialized:   "Deletion of Shoot cluster initialized.",
		Succeeded:     "Shoot cluster has been successfully deleted.",
		ReasonStarted: "Deleting", ReasonEnded: "Deleted", ReasonError: "DeleteError",
		Gone: true,
		Work: func(ctx context.Context, reporter *run.Reporter) error {
			if err := o.Cluster.Sync(ctx); err != nil {
				return err
			}
			if err := o.Ownership.Hold(ctx); err != nil {
				return err
			}
			if err := o.DeleteGraph(cleanup.Tasks(o)...).Run(ctx, reporter); err != nil {
				return err
			}
			return o.Status.RemoveFinalizer(ctx)
		},
	}
}
