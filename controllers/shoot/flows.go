package shoot

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
)

// reconcileFlow creates or reconciles a control plane.
func reconcileFlow(o *controlplane.Operation, operation gardencorev1beta1.LastOperationType) run.Flow {
	return run.Flow{
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
func deleteFlow(o *controlplane.Operation, cleanup Cleanup) run.Flow {
	return run.Flow{
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
