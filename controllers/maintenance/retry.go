package maintenance

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
	"github.com/transplant-sim/transplant/controllers/patch"
)

const (
	// DefaultRetryPeriod is how long a shoot that was throttled is left alone, DefaultRetryJitter what chance adds to it
	// at most (docs/specification/care.md#spec-5-9).
	DefaultRetryPeriod = 10 * time.Minute
	DefaultRetryJitter = 5 * time.Minute
)

// Retry sets the annotation gardener.cloud/operation=retry on shoots that have failed because their cloud throttled
// them, some time later (docs/specification/care.md#spec-5-9). Other failed shoots wait for their owners, or for a
// maintenance that has been asked to retry.
type Retry struct {
	// Garden is an uncached client.
	Garden client.Client
	Clock  clock.PassiveClock
	Period time.Duration
	Jitter time.Duration
}

// Reconcile looks at one shoot.
func (r *Retry) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, request.NamespacedName, shoot); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	at, yes := r.at(shoot)
	if !yes || shoot.Annotations[constants.GardenerOperation] != "" {
		return reconcile.Result{}, nil
	}
	if wait := at.Sub(r.Clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return reconcile.Result{}, patch.LockedObject(ctx, r.Garden, shoot, func() {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.GardenerOperation, constants.ShootOperationRetry)
	})
}

// at is when the shoot is to be retried; false means never.
func (r *Retry) at(shoot *gardencorev1beta1.Shoot) (time.Time, bool) {
	failed := ""
	if last := shoot.Status.LastOperation; last != nil {
		failed = last.LastUpdateTime.UTC().Format(time.RFC3339)
	}
	return errorcodes.RetryThrottled(&shoot.Status, r.Period, r.Jitter, window.Chance(shoot, failed))
}

// AddToManager adds the duty to a manager on the garden.
func (r *Retry) AddToManager(mgr manager.Manager) error {
	failed := predicate.NewPredicateFuncs(func(object client.Object) bool {
		shoot, ok := object.(*gardencorev1beta1.Shoot)
		if !ok {
			return false
		}
		_, throttled := r.at(shoot)
		return throttled
	})
	err := builder.ControllerManagedBy(mgr).Named("shoot-retry").For(&gardencorev1beta1.Shoot{},
		builder.WithPredicates(failed)).Complete(r)
	if err != nil {
		return fmt.Errorf("add controller %q: %w", "shoot-retry", err)
	}
	return nil
}
