package shoot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/workers"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// InPlaceUpdates keeps status.inPlaceUpdates of shoots true while their users update nodes in place, at any time after
// the reconciliation that asked for it (docs/specification/versions.md#spec-4-9). Its requests are the control-plane
// namespaces of the seed.
type InPlaceUpdates struct {
	Garden, Seed client.Client // uncached
	SeedName     string
}

// flowRetry is when to look again at a shoot that a flow works on.
const flowRetry = 5 * time.Second

// AddToManager wakes it when a Worker on the seed changes that says where the update of its pools is.
func (r *InPlaceUpdates) AddToManager(mgr manager.Manager, seed cluster.Cluster) error {
	err := builder.ControllerManagedBy(mgr).Named("shoot-in-place-updates").
		WatchesRawSource(source.Kind(seed.GetCache(), &extensionsv1alpha1.Worker{},
			handler.TypedEnqueueRequestsFromMapFunc(wakes))).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "shoot-in-place-updates", err)
	}
	return nil
}

func wakes(_ context.Context, worker *extensionsv1alpha1.Worker) []reconcile.Request {
	if worker.Status.InPlaceUpdates == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(worker)}}
}

// Reconcile takes pools off the status that are updated. While a flow runs, that is the flow's to do; but it does so
// once, and no event reports its end, so that the shoot is looked at again.
func (r *InPlaceUpdates) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := r.Seed.Get(ctx, request.NamespacedName, worker); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if worker.Status.InPlaceUpdates == nil {
		return reconcile.Result{}, nil
	}
	cluster := &extensionsv1alpha1.Cluster{}
	if err := r.Seed.Get(ctx, client.ObjectKey{Name: worker.Namespace}, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, known); err != nil {
		return reconcile.Result{}, fmt.Errorf("read the shoot of Cluster %q: %w", cluster.Name, err)
	}
	result := reconcile.Result{}
	err := retry.RetryOnConflict(objects.ConflictBackoff, func() (err error) {
		result.RequeueAfter, err = r.settle(ctx, client.ObjectKeyFromObject(known), worker)
		return err
	})
	return result, err
}

// settle says when to look again, if anything is left that only time can show.
func (r *InPlaceUpdates) settle(ctx context.Context, key client.ObjectKey,
	worker *extensionsv1alpha1.Worker) (time.Duration, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, key, shoot); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	last := shoot.Status.LastOperation
	if shoot.Status.InPlaceUpdates == nil || last == nil || shoot.Status.SeedName == nil ||
		*shoot.Status.SeedName != r.SeedName {
		return 0, nil
	}
	if last.State == gardencorev1beta1.LastOperationStateProcessing {
		return flowRetry, nil
	}
	wanted, err := workers.InPlaceAfter(shoot, worker, false)
	if err != nil || equality.Semantic.DeepEqual(wanted, shoot.Status.InPlaceUpdates) {
		return 0, err
	}
	return 0, patch.LockedStatus(ctx, r.Garden, shoot, func() { shoot.Status.InPlaceUpdates = wanted })
}
