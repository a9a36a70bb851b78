package node

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// AddToManager adds the Reconciler to a manager, which may be on another cluster than the shoot, and fills Shoot and
// Events. The shoot need not answer yet.
func (r *Reconciler) AddToManager(mgr manager.Manager, shoot *rest.Config) error {
	// Known from the start: the shoot need not answer yet.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(storagev1.SchemeGroupVersion.WithKind("CSINode"), meta.RESTScopeRoot)
	target, err := cluster.New(shoot, func(o *cluster.Options) {
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }
		o.Scheme = clientgoscheme.Scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		// There are many pods, and few that nodes wait for.
		critical := labels.SelectorFromSet(labels.Set{constants.NodeCriticalComponent: constants.LabelTrue})
		o.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: critical}}
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
		WatchesRawSource(source.Kind(target.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{},
			tainted)).
		// What a node waits for wakes it: the backoff is for what no watch reports.
		WatchesRawSource(source.Kind(target.GetCache(), &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(nodeOf))).
		WatchesRawSource(source.Kind(target.GetCache(), &storagev1.CSINode{},
			&handler.TypedEnqueueRequestForObject[*storagev1.CSINode]{})).
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller of node-critical components: %w", err)
	}
	return nil
}

// nodeOf is the node that a pod is on, if any.
func nodeOf(_ context.Context, pod *corev1.Pod) []reconcile.Request {
	if pod.Spec.NodeName == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: pod.Spec.NodeName}}}
}
