package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/migration/refusals"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// ForcedRestore gives a shoot whose seed does not answer to the seed it is bound to (docs/ownership.md#spec-9-3): it
// skips the source's part of the migration. It runs in the garden-controller-manager. The annotation is set by
// operators, or by Evacuation.
type ForcedRestore struct {
	// Garden is an uncached client. In the first pass, it reads from the cache.
	Garden client.Client
	States scope.States
	Clock  clock.PassiveClock
	Events scope.Events
	// Retry is when to look again at a source that still answers, or at a state that is not whole.
	Retry time.Duration
	// Refused says of a state that is not whole whether to read it again. It is set by AddToManager.
	Refused *refusals.Refusals
}

// Reconcile looks at one shoot with the annotation.
func (r *ForcedRestore) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	err := r.Garden.Get(ctx, request.NamespacedName, shoot)
	spec, status := ptr.Deref(shoot.Spec.SeedName, ""), ptr.Deref(shoot.Status.SeedName, "")
	if err != nil || !lifecycle.Forced(shoot) || spec == "" || status == "" || spec == status {
		r.Refused.Forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	answers, err := r.answers(ctx, status)
	if err != nil {
		return reconcile.Result{}, err
	}
	if answers {
		log.FromContext(ctx).Info("No restore is forced while the source answers", "shoot", request.NamespacedName, "source",
			status)
		return reconcile.Result{RequeueAfter: r.Retry}, reporter{r.Garden, r.Clock, r.Events}.report(ctx, shoot, nil)
	}
	if err := cachefirst.Ask(r.Garden); err != nil {
		if known := r.Refused.Known(ctx, shoot, r.Clock.Now()); known != nil {
			return reconcile.Result{RequeueAfter: r.Retry}, reporter{r.Garden, r.Clock, r.Events}.report(ctx, shoot, known)
		}
		return reconcile.Result{}, err
	}
	of := r.Refused.Versions(ctx, shoot)
	_, _, err = checkGarden(ctx, r.Garden, r.States, shoot)
	if incomplete, is := errors.AsType[*IncompleteError](err); is {
		r.Refused.Note(shoot, of, incomplete, r.Clock.Now())
		return reconcile.Result{RequeueAfter: r.Retry}, reporter{r.Garden, r.Clock, r.Events}.report(ctx, shoot, incomplete)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.give(ctx, shoot, status); err != nil {
		return reconcile.Result{}, err
	}
	r.Events.Event(shoot, corev1.EventTypeWarning, "ForcedRestore",
		fmt.Sprintf("Seed %q does not answer: the shoot is restored on seed %q without it.", status, spec))
	return reconcile.Result{}, nil
}

// answers reports whether the gardenlet of the seed is heard of. A seed that does not exist any more does not answer.
func (r *ForcedRestore) answers(ctx context.Context, name string) (bool, error) {
	seed := &gardencorev1beta1.Seed{}
	err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, seed)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read seed %q: %w", name, err)
	}
	return statusOf(seed.Status.Conditions, gardencorev1beta1.SeedGardenletReady) == gardencorev1beta1.ConditionTrue, nil
}

// give makes the destination responsible. It only says who is to act: that the source does not act any more is what the
// destination makes sure of, by taking ownership.
func (r *ForcedRestore) give(ctx context.Context, shoot *gardencorev1beta1.Shoot, source string) error {
	if err := patch.LockedStatus(ctx, r.Garden, shoot, func() {
		status := &shoot.Status
		status.SeedName = shoot.Spec.SeedName
		status.LastErrors, status.RetryCycleStartTime, status.MigrationStartTime = nil, nil, nil
		status.LastOperation = aborted(fmt.Sprintf("Seed %q does not answer, its part of the migration is skipped.", source),
			r.Clock)
		status.Constraints = without(status.Constraints, gardencorev1beta1.ShootEvacuationPossible)
	}); err != nil {
		return fmt.Errorf("give shoot %q to seed %q: %w", client.ObjectKeyFromObject(shoot), *shoot.Spec.SeedName, err)
	}
	return nil
}

func aborted(why string, clock clock.PassiveClock) *gardencorev1beta1.LastOperation {
	return &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationTypeMigrate, State: gardencorev1beta1.LastOperationStateAborted,
		Description: why, LastUpdateTime: metav1.NewTime(clock.Now()),
	}
}
