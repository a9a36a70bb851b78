package migration

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// reporter reports why a shoot cannot be evacuated, in its constraint EvacuationPossible.
type reporter struct {
	garden client.Client
	clock  clock.PassiveClock
	events scope.Events
}

// report sets the constraint, with an event, once for each reason; nil removes the constraint.
func (r reporter) report(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) error {
	before := shoot.DeepCopy()
	if why == nil {
		shoot.Status.Constraints = without(shoot.Status.Constraints, gardencorev1beta1.ShootEvacuationPossible)
	} else {
		shoot.Status.Constraints = with(shoot.Status.Constraints, gardencorev1beta1.Condition{
			Type: gardencorev1beta1.ShootEvacuationPossible, Status: gardencorev1beta1.ConditionFalse, Reason: reasonOf(why),
			Message: why.Error(),
		}, r.clock)
	}
	patch := client.MergeFrom(before)
	if data, err := patch.Data(shoot); err != nil || string(data) == "{}" {
		return err
	}
	if err := r.garden.Status().Patch(ctx, shoot,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch the constraints of shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	if why != nil {
		r.events.Event(shoot, corev1.EventTypeWarning, "EvacuationImpossible", why.Error())
	}
	return nil
}

func reasonOf(why error) string {
	if _, is := errors.AsType[*IncompleteError](why); is {
		return "StateIncomplete"
	}
	return "NoDestination"
}
