package migration

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// restoreFlow is the destination's part (SPEC 2.9): it reads the saved state, becomes owner, and then runs the graph
// of every reconciliation in restore mode. Nothing is written to an authority before the state is known to be whole.
func (r *Reconciler) restoreFlow(o *controlplane.Operation) controlplane.Flow {
	return controlplane.Flow{
		Type:          gardencorev1beta1.LastOperationTypeRestore,
		Initialized:   "Restoration of Shoot cluster initialized.",
		Succeeded:     "Shoot cluster has been successfully restored.",
		ReasonStarted: "Reconciling", ReasonEnded: "Reconciled", ReasonError: "ReconcileError",
		Work: func(ctx context.Context, reporter *controlplane.Reporter) error {
			if err := prepareRestore(ctx, o); err != nil {
				return err
			}
			if err := o.HoldOwnership(ctx); err != nil {
				return err
			}
			if err := o.SyncCluster(ctx); err != nil {
				return err
			}
			if controlplane.Forced(o.Shoot) {
				if err := adoptBackups(ctx, o); err != nil {
					return err
				}
			}
			return o.ReconcileGraph().Run(ctx, reporter)
		},
		Consumes: []string{constants.ShootSkipReadiness, constants.ShootTasks, constants.ShootForceRestore},
		Finish: func(status *gardencorev1beta1.ShootStatus) {
			status.SeedName = &o.SeedName
			status.IsHibernated = o.Hibernated()
			for i := range status.Conditions {
				if status.Conditions[i].Status != gardencorev1beta1.ConditionFalse {
					status.Conditions[i].Status = gardencorev1beta1.ConditionProgressing
				}
			}
		},
	}
}

// prepareRestore comes before the first write to an authority: what the restore needs is read and known to be there, and
// then what an earlier epoch has left on this seed goes (SPEC 9.2, O10), which may be the last other copy.
func prepareRestore(ctx context.Context, o *controlplane.Operation) error {
	if err := loadState(ctx, o); err != nil {
		return err
	}
	left, err := o.HasLeftovers(ctx)
	if err != nil || !left {
		return err
	}
	if err := o.RemoveLeftovers(ctx); err != nil {
		return fmt.Errorf("remove what an earlier epoch has left on this seed: %w", err)
	}
	return nil
}

// loadState reads the state; of a restore by force it makes sure that nothing is missing.
func loadState(ctx context.Context, o *controlplane.Operation) error {
	if controlplane.Forced(o.Shoot) {
		return checkComplete(ctx, o)
	}
	var err error
	o.State, err = o.States.Load(ctx, client.ObjectKeyFromObject(o.Shoot))
	return err
}
