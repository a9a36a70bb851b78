package care

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// AddToManager adds the Reconciler to a manager on the garden. It looks at up to workers shoots at a time.
func (r *Reconciler) AddToManager(mgr manager.Manager, workers int) error {
	err := builder.ControllerManagedBy(mgr).Named("shoot-care").
		Watches(&gardencorev1beta1.Shoot{}, r.events()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("add the care controller: %w", err)
	}
	return nil
}

// events are what care is called for beside its period (docs/specification/care.md#spec-5-1).
func (r *Reconciler) events() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if shoot, ok := e.Object.(*gardencorev1beta1.Shoot); ok && r.cares(shoot) {
				q.AddAfter(requestFor(shoot), spread(shoot, r.SyncPeriod))
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*gardencorev1beta1.Shoot)
			after, too := e.ObjectNew.(*gardencorev1beta1.Shoot)
			if ok && too && r.cares(after) && news(before, after) {
				q.Add(requestFor(after))
			}
		},
	}
}

// news is whether a shoot has changed such that it is looked at at once: it was given to a seed, an operation has
// succeeded, or it goes to sleep or wakes up.
func news(before, after *gardencorev1beta1.Shoot) bool {
	return ptr.Deref(before.Status.SeedName, "") != ptr.Deref(after.Status.SeedName, "") ||
		succeeded(after) && !succeeded(before) || health.Hibernated(before) != health.Hibernated(after)
}

func succeeded(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
}

// next is after how long to look at a shoot again, of which these conditions were found. What an operation has made may
// need a moment to become well: until it is, the pauses begin short, and grow to the period with the time since then.
func (r *Reconciler) next(shoot *gardencorev1beta1.Shoot, found []gardencorev1beta1.Condition,
	now time.Time) time.Duration {
	isUnwell := func(c gardencorev1beta1.Condition) bool { return c.Status != gardencorev1beta1.ConditionTrue }
	if !succeeded(shoot) || !slices.ContainsFunc(found, isUnwell) {
		return r.SyncPeriod
	}
	since := now.Sub(shoot.Status.LastOperation.LastUpdateTime.Time)
	return min(max(since/2, r.SyncPeriod/5), r.SyncPeriod)
}

func requestFor(shoot *gardencorev1beta1.Shoot) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
}

// spread is when within a period a shoot is looked at for the first time: when a gardenlet starts not all are at once,
// and each has its own place.
func spread(shoot *gardencorev1beta1.Shoot, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(shoot.UID)) // a hash never fails
	return time.Duration(sum.Sum64() % uint64(period))
}
