package migration

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// SourceCleanup removes what a shoot has left on a seed it has moved away from: the control-plane namespace and the
// Cluster. It keeps both until the shoot is restored elsewhere, and touches nothing outside the seed but its own
// bucket.
type SourceCleanup struct {
	Factory *controlplane.Factory
	Events  scope.Events
	// Retry is when to look again at a shoot that is still on its way.
	Retry time.Duration
}

// Reconcile looks at one shoot.
func (r *SourceCleanup) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	unlock, free := r.Factory.TryLock(request.NamespacedName)
	if !free {
		return reconcile.Result{RequeueAfter: r.Retry}, nil
	}
	defer unlock()
	o, err := r.Factory.Operation(ctx, log.FromContext(ctx), request.NamespacedName)
	if o == nil || err != nil {
		return reconcile.Result{}, err
	}
	if o.Namespace() == "" || !movedAway(o.Shoot, o.SeedName) {
		return reconcile.Result{}, nil
	}
	here, err := o.Ownership.Survey(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch answer, err := here.Next(ctx, tenure.SourceCleanup); {
	case err != nil || answer != tenure.Remove:
		return reconcile.Result{}, err
	case here.Phase == tenure.None:
		// A removal was broken off between the namespace and the Cluster. Where the namespace is here, the Cluster stays:
		// the shoot may be this seed's by DNS, whatever the garden says, and its extensions need it.
		return reconcile.Result{}, o.Cluster.Delete(ctx)
	}
	if err := o.Leftovers.Remove(ctx, o.Entries.Purge); err != nil {
		return reconcile.Result{}, err
	}
	r.Events.Event(o.Shoot, corev1.EventTypeNormal, "SourceCleaned",
		fmt.Sprintf("Seed %q keeps nothing of the shoot any more.", o.SeedName))
	return reconcile.Result{}, nil
}

// movedAway reports whether the shoot lives, restored, on another seed.
func movedAway(shoot *gardencorev1beta1.Shoot, seed string) bool {
	spec, status, last := ptr.Deref(shoot.Spec.SeedName, ""), ptr.Deref(shoot.Status.SeedName, ""),
		shoot.Status.LastOperation
	if spec == "" || spec == seed || status != spec || last == nil {
		return false
	}
	switch last.Type {
	case gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeDelete:
		return true
	case gardencorev1beta1.LastOperationTypeRestore:
		return last.State == gardencorev1beta1.LastOperationStateSucceeded
	}
	return false
}
