package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// StateSync keeps the ShootState of every shoot on this seed in step with what is in the seed, so that the state is
// at hand when the seed is not (docs/specification/migration.md#spec-2-8 as in docs/specification/README.md#s0). It is
// woken by every change of the objects that hold state.
type StateSync struct {
	Factory *controlplane.Factory
	// Period is how often the state is looked at when no watch has reported a change.
	Period time.Duration
}

// Reconcile saves the state of one shoot.
//
// It replaces what is saved, so it must never run where the control plane is not: on a destination before it has
// restored (docs/specification/quirks.md#quirk-s4), on a source after it has begun to release the shoot. Then the flows
// save the state themselves, by merging.
func (r *StateSync) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.Factory.Operation(ctx, log.FromContext(ctx), request.NamespacedName)
	if o == nil || err != nil {
		return reconcile.Result{}, err
	}
	if !holdsState(o) {
		return reconcile.Result{}, nil
	}
	err = o.States.Save(ctx, request.NamespacedName, func(ctx context.Context) (*shootstate.State, error) {
		return r.collect(ctx, o)
	})
	if errors.Is(err, errNotOwned) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err // who was overtaken by another collects anew
	}
	return reconcile.Result{RequeueAfter: r.Period}, nil
}

// errNotOwned says that the state is no longer this seed's to replace.
var errNotOwned = errors.New("the seed does not hold the shoot any more")

// collect reads the state of the shoot. It may have been given away while we did: what is gone by then must not be
// saved as gone.
func (r *StateSync) collect(ctx context.Context, o *controlplane.Operation) (*shootstate.State, error) {
	key := client.ObjectKeyFromObject(o.Shoot)
	state, err := shootstate.Collect(ctx, o.Seed, o.Namespace(), o.BackupEntryName())
	if err != nil {
		return nil, fmt.Errorf("collect the state of shoot %q: %w", key, err)
	}
	again, err := r.Factory.Operation(ctx, o.Log, key)
	if err != nil {
		return nil, err
	}
	if again == nil || again.Shoot.UID != o.Shoot.UID || !holdsState(again) {
		return nil, errNotOwned
	}
	state.Owner = o.Shoot.UID
	return state, nil
}

// holdsState reports whether the seed holds the whole control plane of the shoot: it was created or restored here, and
// is not on its way elsewhere.
func holdsState(o *controlplane.Operation) bool {
	spec, status, last := o.Shoot.Spec.SeedName, o.Shoot.Status.SeedName, o.Shoot.Status.LastOperation
	if o.Shoot.DeletionTimestamp != nil || spec == nil || status == nil || *spec != o.SeedName || *status != o.SeedName ||
		last == nil {
		return false
	}
	switch last.Type {
	case gardencorev1beta1.LastOperationTypeReconcile:
		return true
	case gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeRestore:
		return last.State == gardencorev1beta1.LastOperationStateSucceeded
	}
	return false
}
