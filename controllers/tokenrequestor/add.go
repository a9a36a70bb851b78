package tokenrequestor

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/controllers/connection"
)

// FieldOwner is the name under which tokens are written into Secrets. It is no other program's: whose a Secret is shows
// by who else has written it.
const FieldOwner = "token-requestor"

// AddToManager adds the controller to a manager whose client reads from the API server of the seed, and whose cache is
// of one control-plane namespace. The shoot need not answer yet.
func AddToManager(mgr manager.Manager, shoot *rest.Config) error {
	target, err := client.New(connection.Bounded(shoot, connection.CallTimeout),
		client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return fmt.Errorf("make the client of the shoot: %w", err)
	}
	r := &Reconciler{Source: client.WithFieldOwner(mgr.GetClient(), FieldOwner), Target: target,
		Authority: shoot.CAData, Clock: clock.RealClock{}}
	// The metadata only: whoever watches the ManagedResources has the same watch.
	err = builder.ControllerManagedBy(mgr).Named("token-requestor").
		WatchesMetadata(&corev1.Secret{}, &handler.EnqueueRequestForObject{},
			builder.WithPredicates(predicate.NewPredicateFuncs(isRequest))).
		WithOptions(controller.Options{
			SkipNameValidation: ptr.To(true),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](100*time.Millisecond,
				15*time.Second),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the token requestor: %w", err)
	}
	return nil
}
