package migration

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Readiness writes the constraint ReadyForMigration, the garden's word that a destination can take a shoot
// (docs/specification/migration.md#spec-2-4). It runs in the garden-controller-manager.
type Readiness struct {
	// Garden is an uncached client. In the first pass, it reads from the cache.
	Garden client.Client
	Clock  clock.PassiveClock
	// Retry is when to look again at a destination that is not ready.
	Retry time.Duration
}

// Reconcile brings the constraint of one shoot up to date.
func (r *Readiness) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, request.NamespacedName, shoot); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	spec, status := ptr.Deref(shoot.Spec.SeedName, ""), ptr.Deref(shoot.Status.SeedName, "")
	if spec == "" || status == "" || spec == status {
		return reconcile.Result{}, r.patch(ctx, shoot,
			without(shoot.Status.Constraints, gardencorev1beta1.ShootReadyForMigration))
	}
	source, destination := &gardencorev1beta1.Seed{}, &gardencorev1beta1.Seed{}
	if err := r.Garden.Get(ctx, client.ObjectKey{Name: spec}, destination); err != nil {
		return reconcile.Result{}, fmt.Errorf("read seed %q: %w", spec, err)
	}
	// The source may be gone for good; then there is no version to compare with.
	if err := r.Garden.Get(ctx, client.ObjectKey{Name: status}, source); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("read seed %q: %w", status, err)
	}
	if lifecycle.Forced(shoot) &&
		statusOf(source.Status.Conditions, gardencorev1beta1.SeedGardenletReady) != gardencorev1beta1.ConditionTrue {
		return reconcile.Result{RequeueAfter: r.Retry}, r.patch(ctx, shoot, // nobody waits for it while the source is silent
			without(shoot.Status.Constraints, gardencorev1beta1.ShootReadyForMigration))
	}
	wanted, retry := judge(source, destination)
	result := reconcile.Result{}
	if retry {
		result.RequeueAfter = r.Retry
	}
	return result, r.patch(ctx, shoot, with(slices.Clone(shoot.Status.Constraints), wanted, r.Clock))
}

// judge is the table of docs/specification/migration.md#spec-2-4. The second result says whether to look again.
func judge(source, destination *gardencorev1beta1.Seed) (gardencorev1beta1.Condition, bool) {
	condition := gardencorev1beta1.Condition{Type: gardencorev1beta1.ShootReadyForMigration,
		Status: gardencorev1beta1.ConditionFalse}
	condition.Reason = "DestinationSeedUnready"
	switch {
	case destination.DeletionTimestamp != nil:
		condition.Reason = "DestinationSeedInDeletion"
		condition.Message = fmt.Sprintf("Destination seed %q is being deleted.", destination.Name)
		return condition, false
	case destination.Status.Gardener == nil ||
		(source.Status.Gardener != nil && source.Status.Gardener.Version != destination.Status.Gardener.Version):
		condition.Message = fmt.Sprintf("Destination seed %q is not managed by the same Gardener version as the source.",
			destination.Name)
	case destination.Status.ObservedGeneration < destination.Generation:
		condition.Message = fmt.Sprintf("The latest specification of destination seed %q is not observed yet.",
			destination.Name)
	default:
		for _, needed := range []gardencorev1beta1.ConditionType{gardencorev1beta1.SeedGardenletReady,
			gardencorev1beta1.SeedSystemComponentsHealthy} {
			if statusOf(destination.Status.Conditions, needed) != gardencorev1beta1.ConditionTrue {
				condition.Message = fmt.Sprintf("Condition %s of destination seed %q is not True.", needed, destination.Name)
				return condition, true
			}
		}
		condition.Status, condition.Reason = gardencorev1beta1.ConditionTrue, "DestinationSeedReady"
		condition.Message = fmt.Sprintf("Destination seed %q is ready.", destination.Name)
		return condition, false
	}
	return condition, true
}

func statusOf(conditions []gardencorev1beta1.Condition,
	wanted gardencorev1beta1.ConditionType) gardencorev1beta1.ConditionStatus {
	for _, condition := range conditions {
		if condition.Type == wanted {
			return condition.Status
		}
	}
	return gardencorev1beta1.ConditionUnknown
}

func without(conditions []gardencorev1beta1.Condition,
	unwanted gardencorev1beta1.ConditionType) []gardencorev1beta1.Condition {
	var kept []gardencorev1beta1.Condition
	for _, condition := range conditions {
		if condition.Type != unwanted {
			kept = append(kept, condition)
		}
	}
	return kept
}

// with puts a condition in the place of the one of its type. Times change only with what they are times of.
func with(conditions []gardencorev1beta1.Condition, wanted gardencorev1beta1.Condition,
	clock clock.PassiveClock) []gardencorev1beta1.Condition {
	now := metav1.NewTime(clock.Now())
	wanted.LastTransitionTime, wanted.LastUpdateTime = now, now
	for i, old := range conditions {
		if old.Type != wanted.Type {
			continue
		}
		if old.Status == wanted.Status {
			wanted.LastTransitionTime = old.LastTransitionTime
		}
		if old.Status != wanted.Status || old.Reason != wanted.Reason || old.Message != wanted.Message {
			conditions[i] = wanted
		}
		return conditions
	}
	return append(conditions, wanted)
}

// patch writes constraints only if nobody else has written the status meanwhile: a merge patch replaces the whole list.
func (r *Readiness) patch(ctx context.Context, shoot *gardencorev1beta1.Shoot,
	constraints []gardencorev1beta1.Condition) error {
	return client.IgnoreNotFound(patch.LockedStatus(ctx, r.Garden, shoot, func() {
		shoot.Status.Constraints = constraints
	}))
}
