package operation

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// AbortInterrupted marks the operations that an earlier gardenlet of this seed has left half-done
// (docs/specification/migration.md#spec-2-5). It is called before any flow runs; the flows then begin anew, from what
// they find.
func AbortInterrupted(ctx context.Context, garden client.Client, clock clock.PassiveClock, seedName string) error {
	shoots := &gardencorev1beta1.ShootList{}
	if err := garden.List(ctx, shoots); err != nil {
		return fmt.Errorf("list the shoots whose operation was interrupted: %w", err)
	}
	var errs []error
	for i := range shoots.Items {
		if !interrupted(&shoots.Items[i], seedName) {
			continue
		}
		key := client.ObjectKeyFromObject(&shoots.Items[i])
		// Others write the status too: a conflict must not keep the gardenlet from starting.
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return abort(ctx, garden, clock, seedName, key) })
		if err != nil {
			errs = append(errs, fmt.Errorf("abort the interrupted operation of shoot %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func abort(ctx context.Context, garden client.Client, clock clock.PassiveClock, seedName string,
	key client.ObjectKey) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(ctx, key, shoot); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !interrupted(shoot, seedName) {
		return nil
	}
	last := shoot.Status.LastOperation
	return client.IgnoreNotFound(patch.LockedStatus(ctx, garden, shoot, func() {
		last.State, last.LastUpdateTime = gardencorev1beta1.LastOperationStateAborted, metav1.NewTime(clock.Now())
		last.Description = fmt.Sprintf("The gardenlet was restarted at %d %% of the operation, which begins anew: %s",
			last.Progress, last.Description)
	}))
}

// interrupted reports whether the seed has begun an operation on the shoot; no flow runs yet, so it was cut short.
func interrupted(shoot *gardencorev1beta1.Shoot, seedName string) bool {
	last := shoot.Status.LastOperation
	return last != nil && last.State == gardencorev1beta1.LastOperationStateProcessing &&
		lifecycle.ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName) == seedName
}
