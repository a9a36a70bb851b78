package outside

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// take gives the shoot to this place in the garden, and then takes ownership (docs/ownership.md#o5,
// docs/ownership.md#o6). The first write is over the Shoot that was checked: whoever has changed it since wins. While
// status.seedName names no Seed, no gardenlet acts on the shoot, and the seed that has had it is its destination.
func (r *run) take(ctx context.Context) error {
	if r.Takeover == nil {
		if err := r.give(ctx); err != nil {
			return err
		}
		r.Takeover = &ownership.Takeover{
			Owner: string(r.SeedObject.UID), Seed: constants.SeedOutside, Clock: r.Boottime,
			Claim:    r.Owners.Claim(r.key.Namespace, r.OwnerLeaseName()),
			Decision: r.Owners.Decision(r.OwnerRecordName()),
			Timing:   ownership.Timing{Interval: r.OwnerCheckInterval, Timeout: r.OwnerCheckTimeout},
			BoundTo:  r.givenTo, FinalSnapshot: r.entries.FinalSnapshots(),
		}
	}
	epoch, err := r.Takeover.Run(ctx)
	if unreadable, is := errors.AsType[*ownership.UnreadableError](err); is {
		return &awayError{"the " + unreadable.What, err}
	}
	if unwritten, is := errors.AsType[*ownership.UnwrittenError](err); is {
		return &awayError{"the " + string(unwritten.What), err}
	}
	r.Epoch = epoch
	return err
}

// give says in the garden that this place is responsible, and that it is at work. What was asked of an earlier restore
// is over.
func (r *run) give(ctx context.Context) error {
	if err := patch.LockedObject(ctx, r.Garden, r.Shoot, func() {
		delete(r.Shoot.Annotations, constants.ShootForceRestore)
		delete(r.Shoot.Annotations, constants.HandOver)
	}); err != nil {
		return fmt.Errorf("take shoot %q out of the hands of its seed: %w", r.key, err)
	}
	err := patch.LockedStatus(ctx, r.Garden, r.Shoot, func() {
		status := &r.Shoot.Status
		status.SeedName = ptr.To(constants.SeedOutside)
		status.LastErrors, status.RetryCycleStartTime = nil, nil
		status.LastOperation = r.operation(gardencorev1beta1.LastOperationStateProcessing,
			"An operator restores the control plane outside any seed.")
	})
	if err != nil {
		return fmt.Errorf("take shoot %q out of the hands of its seed: %w", r.key, err)
	}
	r.given = true
	return nil
}

func (r *run) operation(state gardencorev1beta1.LastOperationState, what string) *gardencorev1beta1.LastOperation {
	return &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate, State: state,
		Description: what, LastUpdateTime: metav1.NewTime(r.Clock.Now())}
}

// givenTo is who is responsible for the shoot by now.
func (r *run) givenTo(ctx context.Context) (string, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Garden.Get(ctx, r.key, shoot); err != nil {
		return "", err
	}
	return ptr.Deref(shoot.Status.SeedName, ""), nil
}
