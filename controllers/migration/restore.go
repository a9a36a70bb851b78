package migration

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// restoreFlow is the destination's part (SPEC 2.9): it reads the saved state, becomes owner, and then runs the graph
// of every reconciliation in restore mode. Nothing is written to an authority before the state is known to be whole. A
// shoot whose deletion has come so far that there is nothing to restore is only taken up, to be deleted from here.
func (r *Reconciler) restoreFlow(o *controlplane.Operation) controlplane.Flow {
	return controlplane.Flow{
		Type:          gardencorev1beta1.LastOperationTypeRestore,
		Initialized:   "Restoration of Shoot cluster initialized.",
		Succeeded:     "Shoot cluster has been successfully restored.",
		ReasonStarted: "Reconciling", ReasonEnded: "Reconciled", ReasonError: "ReconcileError",
		Work: func(ctx context.Context, reporter *controlplane.Reporter) error {
			nothing, err := r.prepareRestore(ctx, o)
			if err != nil {
				return err
			}
			if err := o.HoldOwnership(ctx); err != nil {
				return err
			}
			if err := o.SyncCluster(ctx); err != nil {
				return err
			}
			if nothing {
				if err := adoptDying(ctx, o); err != nil {
					return err
				}
				return o.ReclaimGraph().Run(ctx, reporter)
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
			controlplane.RolledOut(status)
			for i := range status.Conditions {
				if status.Conditions[i].Status != gardencorev1beta1.ConditionFalse {
					status.Conditions[i].Status = gardencorev1beta1.ConditionProgressing
				}
			}
		},
	}
}

// prepareRestore comes before the first write to an authority: what an earlier epoch has left on this seed ends in good order
// (SPEC 9.2, O10), what the restore needs is read and known to be there, and then what was left, which may be the last other
// copy, goes. It tells whether there is nothing to restore.
func (r *Reconciler) prepareRestore(ctx context.Context, o *controlplane.Operation) (nothing bool, err error) {
	left, err := o.HasLeftovers(ctx)
	if err != nil {
		return false, err
	}
	if left {
		if err := r.awaitEnd(ctx, o); err != nil {
			return false, err
		}
	}
	if nothing, err = loadState(ctx, o); err != nil || !left {
		return nothing, err
	}
	if err := o.RemoveLeftovers(ctx); err != nil {
		return false, fmt.Errorf("remove what an earlier epoch has left on this seed: %w", err)
	}
	return nothing, nil
}

// endPatience bounds the wait for the end of an epoch that has been left here. It is longer than a guard tries to get its final
// snapshot into the bucket: who has said nothing by then has lost its data, or cannot start.
const endPatience = 3 * time.Minute

// reasonEndUnheard is the reason of the event that tells that an epoch was removed of which nobody could say that it was over.
const reasonEndUnheard = "EndOfEpochUnheard"

// awaitEnd waits until the etcd that an earlier epoch has left on this seed has its final snapshot. Another owner may have taken the
// shoot over and never begun: then that snapshot is what this restore starts from.
func (r *Reconciler) awaitEnd(ctx context.Context, o *controlplane.Operation) error {
	epoch, err := o.RunningEpoch(ctx)
	if err != nil || epoch == 0 {
		return err
	}
	guard, unheard := o.GuardURL(ctx)
	if client.IgnoreNotFound(unheard) != nil {
		return unheard
	}
	if unheard == nil {
		bounded, cancel := context.WithTimeout(ctx, endPatience)
		defer cancel()
		unheard = r.Release.AwaitEnd(bounded, guard, epoch)
	}
	if unheard == nil || ctx.Err() != nil {
		return unheard
	}
	r.Runner.Events.Event(o.Shoot, corev1.EventTypeWarning, reasonEndUnheard,
		fmt.Sprintf("Epoch %d is removed from seed %q; what no backup has of it is lost: %v", epoch, o.SeedName, unheard))
	return nil
}

// loadState reads the state and makes sure that there are backups; of a restore by force, or of a shoot in deletion, it
// makes sure that nothing at all is missing.
func loadState(ctx context.Context, o *controlplane.Operation) (nothing bool, err error) {
	if controlplane.Forced(o.Shoot) || o.Shoot.DeletionTimestamp != nil {
		return checkComplete(ctx, o)
	}
	if o.State, err = o.States.Load(ctx, client.ObjectKeyFromObject(o.Shoot)); err != nil {
		return false, err
	}
	return false, checkBackups(ctx, o)
}
