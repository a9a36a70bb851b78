package savedstate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// Chunks removes the chunks of saved states that nobody needs any more (docs/specification/state-size.md#z3). It runs
// in the garden-controller-manager: gardenlets may not list chunks (docs/adr/0017-rights-follow-shoots.md).
type Chunks struct {
	// States has an uncached client.
	States *shootstate.Store
}

// AddToManager adds the Chunks to a manager on the garden.
func (r *Chunks) AddToManager(mgr manager.Manager) error {
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, chunk client.Object) []reconcile.Request {
		shoot := chunk.GetLabels()[transplantv1alpha1.LabelShoot]
		if shoot == "" {
			return nil // nobody knows of which shoot it is
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: chunk.GetNamespace(), Name: shoot}}}
	})
	deleted := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	err := builder.ControllerManagedBy(mgr).Named("shootstate-chunks").
		WatchesMetadata(&transplantv1alpha1.ShootStateChunk{}, byLabel).
		WatchesMetadata(&gardencorev1beta1.ShootState{}, &handler.EnqueueRequestForObject{}).
		Watches(&gardencorev1beta1.Shoot{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(deleted)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "shootstate-chunks", err)
	}
	return nil
}

// Reconcile removes those of one shoot.
func (r *Chunks) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, r.States.Prune(ctx, request.NamespacedName)
}
