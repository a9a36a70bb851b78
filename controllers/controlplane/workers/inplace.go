package workers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// NotePendingInPlace says in the shoot's status which pools are to be updated in place, before anybody begins with it
// (docs/specification/versions.md#spec-4-9).
func (w *Workers) NotePendingInPlace(ctx context.Context) error { return w.settleInPlace(ctx, false) }

// SettlePendingInPlace says which of them are left once the worker pools are ready: those that wait for users.
func (w *Workers) SettlePendingInPlace(ctx context.Context) error {
	return w.settleInPlace(ctx, true)
}

func (w *Workers) settleInPlace(ctx context.Context, ready bool) error {
	worker := w.object()
	if err := w.Seed.Get(ctx, w.Key(worker.Name), worker); client.IgnoreNotFound(err) != nil {
		return objects.Describe("read", worker, w.Seed, err)
	} else if apierrors.IsNotFound(err) && w.Shoot.Status.InPlaceUpdates == nil {
		return nil // it is being made, with nothing to update
	}
	wanted, err := InPlaceAfter(w.Shoot, worker, ready)
	if err != nil || equality.Semantic.DeepEqual(wanted, w.Shoot.Status.InPlaceUpdates) && !ready {
		return err
	}
	return w.status.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) { status.InPlaceUpdates = wanted })
}

// InPlaceAfter is the shoot's status.inPlaceUpdates by what its Worker says that its machines are at
// (docs/specification/versions.md#spec-4-9). Of a pool of which the Worker says nothing, as after a move to another
// seed, what was known stays. Pools that are updated automatically are done when the Worker is ready.
func InPlaceAfter(shoot *gardencorev1beta1.Shoot, worker *extensionsv1alpha1.Worker,
	ready bool) (*gardencorev1beta1.InPlaceUpdatesStatus, error) {
	before := map[string]bool{}
	if updates := shoot.Status.InPlaceUpdates; updates != nil && updates.PendingWorkerUpdates != nil {
		for _, pool := range slices.Concat(updates.PendingWorkerUpdates.AutoInPlaceUpdate,
			updates.PendingWorkerUpdates.ManualInPlaceUpdate) {
			before[pool] = true
		}
	}
	at := map[string]string{}
	if worker.Status.InPlaceUpdates != nil {
		at = maps.Clone(worker.Status.InPlaceUpdates.WorkerPoolToHashMap)
	}
	pending := gardencorev1beta1.PendingWorkerUpdates{}
	for i := range shoot.Spec.Provider.Workers {
		pool := &shoot.Spec.Provider.Workers[i]
		if !rollout.UpdatesInPlace(pool) {
			continue
		}
		wanted, err := rollout.InPlaceFingerprint(shoot, pool)
		if err != nil {
			return nil, fmt.Errorf("find what pool %q is updated to in place: %w", pool.Name, err)
		}
		automatic := *pool.UpdateStrategy == gardencorev1beta1.AutoInPlaceUpdate
		is, known := at[pool.Name]
		switch {
		case known && is == wanted, !known && !before[pool.Name], automatic && ready:
		case automatic:
			pending.AutoInPlaceUpdate = append(pending.AutoInPlaceUpdate, pool.Name)
		default:
			pending.ManualInPlaceUpdate = append(pending.ManualInPlaceUpdate, pool.Name)
		}
	}
	if len(pending.AutoInPlaceUpdate)+len(pending.ManualInPlaceUpdate) == 0 {
		return nil, nil
	}
	return &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &pending}, nil
}
