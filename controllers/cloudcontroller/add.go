package cloudcontroller

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
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

	"github.com/transplant-sim/transplant/controllers/connection"
)

// patience is how long the shoot's API server may be away at the start; its absence is no reason to end.
const patience = 24 * time.Hour

// AddToManager adds the controllers of one shoot to a manager, which is on the shoot's seed. The shoot need not answer
// yet.
func AddToManager(mgr manager.Manager, shoot *rest.Config, account Account) error {
	target, err := cluster.New(shoot, func(o *cluster.Options) {
		o.Scheme = clientgoscheme.Scheme
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return fmt.Errorf("make the caches of the shoot: %w", err)
	}
	if err := mgr.Add(target); err != nil {
		return fmt.Errorf("add the shoot to the manager: %w", err)
	}
	bounded := connection.Bounded(shoot, connection.CallTimeout)
	direct, err := client.New(bounded, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	events := target.GetEventRecorder("cloud-controller")
	return errors.Join(
		add(mgr, target, "service", &corev1.Service{}, concernsService,
			account.waitForOwnership(&Services{Shoot: direct, Account: account, Events: events})),
		add(mgr, target, "claim", &corev1.PersistentVolumeClaim{}, concernsClaim,
			account.waitForOwnership(&Claims{Shoot: direct, Account: account, Events: events})),
		add(mgr, target, "volume", &corev1.PersistentVolume{}, concernsVolume,
			account.waitForOwnership(&Volumes{Shoot: direct, Account: account, Events: events})),
		add(mgr, target, "attachment", &storagev1.VolumeAttachment{}, concernsAttachment,
			account.waitForOwnership(&Attachments{Shoot: direct, Account: account})),
		add(mgr, target, "node", &corev1.Node{}, concernsNode,
			account.waitForOwnership(&Nodes{Shoot: direct, Account: account, Events: events})),
	)
}

// add adds one controller, woken by the objects of a kind that concern it.
func add[T client.Object](mgr manager.Manager, target cluster.Cluster, name string, kind T, concerns func(T) bool,
	r reconcile.Reconciler) error {
	err := builder.ControllerManagedBy(mgr).Named("cloud-" + name).
		WatchesRawSource(source.Kind(target.GetCache(), kind, &handler.TypedEnqueueRequestForObject[T]{},
			predicate.NewTypedPredicateFuncs(concerns))).
		WithOptions(controller.Options{
			SkipNameValidation:      ptr.To(true),
			MaxConcurrentReconciles: 5,
			CacheSyncTimeout:        patience,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond,
				15*time.Second),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the controller %q: %w", name, err)
	}
	return nil
}
