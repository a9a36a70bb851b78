package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// AddToManager adds the Reconciler to a manager, which may be on another cluster than the shoot, and fills Shoot and
// Events. The shoot need not answer yet.
func (r *Reconciler) AddToManager(mgr manager.Manager, shoot *rest.Config) error {
	target, err := cluster.New(shoot, func(o *cluster.Options) {
		o.Scheme = clientgoscheme.Scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return fmt.Errorf("make the clients of the shoot: %w", err)
	}
	if err := mgr.Add(target); err != nil {
		return fmt.Errorf("add the shoot to the manager: %w", err)
	}
	if r.Shoot, err = client.New(shoot, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	r.Events = target.GetEventRecorder("gardener-resource-manager")
	tainted := predicate.NewTypedPredicateFuncs(Tainted)
	err = builder.ControllerManagedBy(mgr).Named("node-critical-components").
		WatchesRawSource(source.Kind(target.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{}, tainted)).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller of node-critical components: %w", err)
	}
	return nil
}
