package contract

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Options are common to all kinds of a provider. Type is required; Class is shoot if empty.
type Options struct {
	Type                    string
	Class                   extensionsv1alpha1.ExtensionClass
	MaxConcurrentReconciles int
	Clock                   clock.PassiveClock

	// BackoffBase and BackoffMax bound the pauses between attempts at a request that fails; zero means 200ms and 5s.
	BackoffBase, BackoffMax time.Duration
}

// Add lets mgr serve the requests of one kind. The manager's client must read from the API server
// (package extension shows one way). Add fails if the kind lacks OnReconcile or OnDelete.
func Add[T extensionsv1alpha1.Object](mgr manager.Manager, kind Kind[T], o Options) error {
	if kind.OnReconcile == nil || kind.OnDelete == nil {
		return fmt.Errorf("add the controller of %s: OnReconcile and OnDelete are required", kind.Name)
	}
	o = o.withDefaults()
	r := &Reconciler[T]{Client: mgr.GetClient(), Known: mgr.GetCache(), Clock: o.Clock, Kind: kind, Type: o.Type,
		Class: o.Class}
	b := builder.ControllerManagedBy(mgr).
		Named(strings.ToLower(kind.Name)).
		For(kind.empty(), builder.WithPredicates(ofType(o.Type, o.Class), mayBeDue())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.MaxConcurrentReconciles,
			SkipNameValidation:      ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.BackoffBase,
				o.BackoffMax),
		}).
		Watches(&extensionsv1alpha1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
				return r.inNamespace(ctx, o.GetName())
			}))
	for _, wake := range kind.Wakes {
		b = b.Watches(wake, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context,
			o client.Object) []reconcile.Request {
			return r.inNamespace(ctx, o.GetNamespace())
		}))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add the controller of %s: %w", kind.Name, err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Class = cmp.Or(o.Class, extensionsv1alpha1.ExtensionClassShoot)
	if o.MaxConcurrentReconciles <= 0 {
		o.MaxConcurrentReconciles = 5
	}
	o.Clock = cmp.Or[clock.PassiveClock](o.Clock, clock.RealClock{})
	if o.BackoffBase <= 0 {
		o.BackoffBase = 200 * time.Millisecond
	}
	if o.BackoffMax <= 0 {
		o.BackoffMax = 5 * time.Second
	}
	return o
}

// inNamespace lists the objects of a control-plane namespace that are due for something: an event beside them is never
// a request of its own (docs/contract.md#clause-a10). One of which no watch has shown yet that it is due is enqueued
// when its own watch shows it, and not before.
func (r *Reconciler[T]) inNamespace(ctx context.Context, namespace string) []reconcile.Request {
	list := r.Kind.NewList()
	var scope []client.ListOption
	if r.Kind.Namespace == nil {
		scope = append(scope, client.InNamespace(namespace))
	}
	if err := r.known().List(ctx, list, scope...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, item := range list.Objects() {
		obj, ok := item.(T)
		if ok && r.Kind.namespaceOf(obj) == namespace && responsible(obj, r.Type, r.Class) && Due(obj) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
		}
	}
	return requests
}
