package resource

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

// SourceScheme has the kinds that are read and written in the seed.
func SourceScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(resourcesv1alpha1.AddToScheme(scheme))
	return scheme
}

// NewManager makes a manager for one namespace of the seed, or for all if none is named. Its client reads from the API
// server: what a ManagedResource says about its objects at its deletion must not be an old answer.
func NewManager(config *rest.Config, namespace, metricsAddress string) (manager.Manager, error) {
	watched := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if namespace != "" {
		watched.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: SourceScheme(), HealthProbeBindAddress: "0", Metrics: metricsserver.At(metricsAddress), Cache: watched,
		NewClient: connection.Live(connection.CallTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager on the seed: %w", err)
	}
	return mgr, nil
}

// AddToManager adds the controller to a manager made by NewManager, and fills Source and Target of the Reconciler. The
// shoot need not answer yet. A change of a Secret wakes the resource manager of a shoot; that of a seed finds it in the
// next period, or at once when the ManagedResource changes.
func (r *Reconciler) AddToManager(mgr manager.Manager, target *rest.Config, workers int) error {
	var err error
	bounded := connection.Bounded(target, connection.CallTimeout)
	if r.Target, err = client.New(bounded, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	r.Source = mgr.GetClient()
	// Our own writes of the status wake nobody.
	changed := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{}))
	controlled := builder.ControllerManagedBy(mgr).Named("managedresource").
		For(&resourcesv1alpha1.ManagedResource{}, changed)
	if r.Class == "" {
		// Who may watch the Secrets of a whole seed may read them, so the seed's resource manager does not.
		controlled.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(referringTo(mgr.GetCache())))
	}
	return controlled.
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			SkipNameValidation:      ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond,
				15*time.Second),
		}).
		Complete(r)
}

// referringTo finds the ManagedResources that name a Secret.
func referringTo(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		list := &resourcesv1alpha1.ManagedResourceList{}
		if err := reader.List(ctx, list, client.InNamespace(secret.GetNamespace())); err != nil {
			return nil // the next period comes
		}
		var requests []reconcile.Request
		for i := range list.Items {
			for _, ref := range list.Items[i].Spec.SecretRefs {
				if ref.Name == secret.GetName() {
					requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				}
			}
		}
		return requests
	}
}
