package managedseed

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
)

// AddToManager adds the Reconciler to a manager on the garden. It is woken by changes of what a ManagedSeed and its
// Seed should be, and when the last operation of a shoot has succeeded; not by what is reported meanwhile.
func (r *Reconciler) AddToManager(mgr manager.Manager) error {
	specified := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	succeeded := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*gardencorev1beta1.Shoot)
		after, too := e.ObjectNew.(*gardencorev1beta1.Shoot)
		return is && too && !isReady(before) && isReady(after)
	}})
	err := builder.ControllerManagedBy(mgr).Named("managedseed").
		For(&seedmanagementv1alpha1.ManagedSeed{}, specified).
		Watches(&gardencorev1beta1.Seed{}, handler.EnqueueRequestsFromMapFunc(r.ofSeed), specified).
		Watches(&gardencorev1beta1.Shoot{}, handler.EnqueueRequestsFromMapFunc(r.ofShoot), succeeded).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "managedseed", err)
	}
	return nil
}

// ofSeed are the requests for the ManagedSeed of a Seed.
func (r *Reconciler) ofSeed(ctx context.Context, seed client.Object) []reconcile.Request {
	return r.of(ctx, func(m *seedmanagementv1alpha1.ManagedSeed) bool { return m.Name == seed.GetName() })
}

// ofShoot are the requests for the ManagedSeed of a Shoot.
func (r *Reconciler) ofShoot(ctx context.Context, shoot client.Object) []reconcile.Request {
	return r.of(ctx, func(m *seedmanagementv1alpha1.ManagedSeed) bool {
		return m.Namespace == shoot.GetNamespace() && m.Spec.Shoot.Name == shoot.GetName()
	})
}

func (r *Reconciler) of(ctx context.Context,
	is func(*seedmanagementv1alpha1.ManagedSeed) bool) (requests []reconcile.Request) {
	managed := &seedmanagementv1alpha1.ManagedSeedList{}
	if err := r.Garden.List(ctx, managed); err != nil {
		return nil // a cache that ends
	}
	for i := range managed.Items {
		if is(&managed.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&managed.Items[i])})
		}
	}
	return requests
}
