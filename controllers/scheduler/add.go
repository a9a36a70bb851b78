package scheduler

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
)

// AddToManager adds the Reconciler to a manager on the garden. Shoots that wait are looked at again whenever a seed or
// a profile changes. It works on one shoot at a time.
func (r *Reconciler) AddToManager(mgr manager.Manager) error {
	if r.Events == nil {
		r.Events = mgr.GetEventRecorder("scheduler")
	}
	waits := predicate.NewPredicateFuncs(func(object client.Object) bool {
		shoot, ok := object.(*gardencorev1beta1.Shoot)
		return ok && wanting(shoot)
	})
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return waiting(ctx, mgr.GetClient())
	})
	err := builder.ControllerManagedBy(mgr).Named("scheduler").
		For(&gardencorev1beta1.Shoot{}, builder.WithPredicates(waits)).
		Watches(&gardencorev1beta1.Seed{}, all).
		Watches(&gardencorev1beta1.CloudProfile{}, all).
		Complete(r.cacheFirst(mgr.GetCache()))
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "scheduler", err)
	}
	return nil
}

func (r *Reconciler) cacheFirst(cached client.Reader) reconcile.Reconciler {
	return &cachefirst.Reconciler{
		Live: r.Garden, Cached: cached, Clock: r.Clock, Fallback: r.Retry,
		Of: func(c client.Client) reconcile.Reconciler {
			return &Reconciler{Garden: c, Cached: cached, Clock: r.Clock, Events: r.Events, Retry: r.Retry}
		},
	}
}

// waiting are the shoots without a seed.
func waiting(ctx context.Context, cached client.Reader) []reconcile.Request {
	shoots := &gardencorev1beta1.ShootList{}
	if err := cached.List(ctx, shoots); err != nil {
		log.FromContext(ctx).Error(err, "The shoots that wait for a seed could not be listed, their retry finds them")
		return nil
	}
	var requests []reconcile.Request
	for i := range shoots.Items {
		if wanting(&shoots.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&shoots.Items[i])})
		}
	}
	return requests
}
