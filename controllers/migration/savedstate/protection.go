// Package savedstate takes care of saved states in the garden: a ShootState stays while a migration needs it, and the
// chunks that nobody needs go. It runs in the garden-controller-manager.
//
// It does not save or restore: gardenlets do. The format is package shootstate's.
package savedstate

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Protection keeps a ShootState from being deleted while a migration lives on it
// (docs/specification/migration.md#spec-2-8).
type Protection struct {
	// Garden is an uncached client. In the first pass, it reads from the cache.
	Garden client.Client
	Clock  clock.PassiveClock
	// Recheck is when to read one of the states that are protected again, as watches may show a finalizer that is gone.
	Recheck time.Duration
}

// AddToManager adds the Protection to a manager on the garden.
func (r *Protection) AddToManager(mgr manager.Manager) error {
	const name = "shootstate-protection"
	err := builder.ControllerManagedBy(mgr).Named(name).For(&gardencorev1beta1.Shoot{}).
		WatchesMetadata(&gardencorev1beta1.ShootState{}, &handler.EnqueueRequestForObject{}).
		Complete(r.cacheFirst(mgr.GetCache()))
	if err != nil {
		return fmt.Errorf("add controller %q: %w", name, err)
	}
	return nil
}

// cacheFirst reads each state when its protection begins, whatever watches show.
func (r *Protection) cacheFirst(cached client.Reader) reconcile.Reconciler {
	with := func(c client.Client) reconcile.Reconciler { return &Protection{Garden: c, Recheck: r.Recheck} }
	return &cachefirst.Reconciler{
		Live: r.Garden, Cached: cached, Of: with, First: true, Clock: r.Clock, Fallback: r.Recheck,
	}
}

// Reconcile sets or takes off the finalizer of the ShootState of one shoot.
func (r *Protection) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	err := r.Garden.Get(ctx, request.NamespacedName, shoot)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	// Without its owner the garbage collector removes it, and nobody else would take the finalizer off.
	protected := err == nil && needed(shoot.Status.LastOperation)
	result := reconcile.Result{}
	if protected {
		result.RequeueAfter = r.Recheck
	}
	state := &metav1.PartialObjectMetadata{}
	state.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("ShootState"))
	if err := r.Garden.Get(ctx, request.NamespacedName, state); err != nil {
		return result, client.IgnoreNotFound(err)
	}
	return result, client.IgnoreNotFound(patch.LockedObject(ctx, r.Garden, state, func() {
		if protected {
			controllerutil.AddFinalizer(state, constants.ShootStateFinalizer)
		} else {
			controllerutil.RemoveFinalizer(state, constants.ShootStateFinalizer)
		}
	}))
}

// needed reports whether a migration has begun and is not over.
func needed(last *gardencorev1beta1.LastOperation) bool {
	if last == nil {
		return false
	}
	return last.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		(last.Type == gardencorev1beta1.LastOperationTypeRestore &&
			last.State != gardencorev1beta1.LastOperationStateSucceeded)
}
