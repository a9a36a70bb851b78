package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/etcd"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// restoreFlow is the destination's part (docs/specification/migration.md#spec-2-9): it reads the saved state, becomes
// owner, and then runs the graph of every reconciliation in restore mode. Nothing is written to an authority before the
// state is known to be whole. A shoot whose deletion has come so far that there is nothing to restore is only taken up,
// to be deleted from here.
func (f *Flows) restoreFlow(o *controlplane.Operation) *run.Flow {
	return &run.Flow{
		Type:          gardencorev1beta1.LastOperationTypeRestore,
		Initialized:   "Restoration of Shoot cluster initialized.",
		Succeeded:     "Shoot cluster has been successfully restored.",
		ReasonStarted: "Reconciling", ReasonEnded: "Reconciled", ReasonError: "ReconcileError",
		Work: func(ctx context.Context, reporter *run.Reporter) error {
			nothing, err := f.prepareRestore(ctx, o)
			if err != nil {
				return err
			}
			if err := o.Ownership.Hold(ctx); err != nil {
				return err
			}
			if err := o.Cluster.Sync(ctx); err != nil {
				return err
			}
			if nothing {
				if err := adoptDying(ctx, o); err != nil {
					return err
				}
				return o.ReclaimGraph().Run(ctx, reporter)
			}
			if lifecycle.Forced(o.Shoot) {
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
			run.RolledOut(status)
			for i := range status.Conditions {
				if status.Conditions[i].Status != gardencorev1beta1.ConditionFalse {
					status.Conditions[i].Status = gardencorev1beta1.ConditionProgressing
				}
			}
		},
	}
}

// prepareRestore comes before the first write to an authority: the state is read and known to be whole, what an earlier
// epoch has left on this seed ends in good order, there are backups, and then what was left, which may be the last
// other copy, goes (docs/ownership.md#o10, docs/ownership.md#spec-9-3). It returns whether there is nothing to restore.
func (f *Flows) prepareRestore(ctx context.Context, o *controlplane.Operation) (nothing bool, err error) {
	if nothing, err = loadState(ctx, o); err != nil {
		return false, err
	}
	here, err := o.Ownership.Survey(ctx)
	if err != nil {
		return false, err
	}
	answer, err := here.Next(ctx, tenure.Restore)
	if err != nil {
		return false, err
	}
	var unconfirmed *UnconfirmedError
	if !nothing {
		if answer == tenure.AwaitEnd {
			err = f.awaitEnd(ctx, o, here)
			unconfirmed, _ = errors.AsType[*UnconfirmedError](err)
			if err != nil && unconfirmed == nil {
				return false, err
			}
			if here, err = o.Ownership.Survey(ctx); err != nil {
				return false, err
			}
		}
		if err := checkBackups(ctx, o, here); err != nil {
			return false, err
		}
	}
	if answer == tenure.Claim {
		return nothing, nil
	}
	if err := o.Leftovers.Remove(ctx); err != nil {
		return false, fmt.Errorf("remove what an earlier epoch has left on this seed: %w", err)
	}
	if unconfirmed != nil {
		o.Events.Event(o.Shoot, corev1.EventTypeWarning, reasonEndUnconfirmed,
			fmt.Sprintf("Seed %q has removed what it had left of the shoot; what no backup has of it is lost: %v", o.SeedName,
				unconfirmed))
	}
	return nothing, nil
}

// loadState reads the state; of a restore by force, or of a shoot in deletion, it makes sure that nothing that the
// garden keeps is missing.
func loadState(ctx context.Context, o *controlplane.Operation) (nothing bool, err error) {
	if lifecycle.Forced(o.Shoot) || o.Shoot.DeletionTimestamp != nil {
		o.State, nothing, err = checkGarden(ctx, o.Garden, o.States, o.Shoot)
		return nothing, err
	}
	o.State, err = o.States.Load(ctx, client.ObjectKeyFromObject(o.Shoot))
	return false, err
}

// endPatience bounds the wait for the end of an epoch that has been left here. A guard that says nothing for so long
// has lost its data, or cannot start.
const endPatience = 3 * time.Minute

// reasonEndUnconfirmed is the reason of the event that says that an epoch was removed without confirmation of its end.
const reasonEndUnconfirmed = "EndOfEpochUnconfirmed"

// UnconfirmedError says that an epoch may not have ended: its guard is silent, or there is none to ask.
type UnconfirmedError struct {
	Epoch int64
	Err   error
}

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("the end of epoch %d is not confirmed: %v", e.Epoch, e.Err)
}

// Unwrap returns why nobody confirmed the end.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// awaitEnd waits until the etcd that an earlier epoch has left on this seed has its final snapshot, if that is
// needed. Another owner may have taken the shoot over and never begun: then that snapshot is what this restore starts
// from. If the guard is silent or does not exist, the error is an UnconfirmedError. All other errors are to be tried
// again: the guard may be well, and have the data.
func (f *Flows) awaitEnd(ctx context.Context, o *controlplane.Operation, here *owner.Survey) error {
	epoch, err := here.UnsavedEpoch(ctx)
	if err != nil || epoch == 0 {
		return err
	}
	guard, err := o.Etcd.Guard(ctx)
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, endPatience)
		defer cancel()
		err = f.Release.AwaitEnd(bounded, guard, epoch)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, etcd.ErrNoGuard), errors.Is(err, validity.ErrSilent):
		return &UnconfirmedError{epoch, err}
	case err != nil:
		return fmt.Errorf("wait for the etcd of epoch %d, which may have the only copy of the shoot's newest data "+
			"(to give it up, delete statefulset %q in namespace %q): %w", epoch, workload.Etcd, o.Namespace(), err)
	}
	return nil
}
