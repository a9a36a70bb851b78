package migration

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// reporter says on a shoot why it goes nowhere, by the constraint EvacuationPossible.
type reporter struct {
	garden client.Client
	clock  clock.PassiveClock
	events controlplane.Events
}

// tell says it once for each reason; nil takes the word back.
func (t reporter) tell(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) error {
	before := shoot.DeepCopy()
	if why == nil {
		shoot.Status.Constraints = without(shoot.Status.Constraints, gardencorev1beta1.ShootEvacuationPossible)
	} else {
		shoot.Status.Constraints = with(shoot.Status.Constraints, gardencorev1beta1.Condition{
			Type: gardencorev1beta1.ShootEvacuationPossible, Status: gardencorev1beta1.ConditionFalse, Reason: reasonOf(why),
			Message: why.Error(),
		}, t.clock)
	}
	patch := client.MergeFrom(before)
	if data, err := patch.Data(shoot); err != nil || string(data) == "{}" {
		return err
	}
	if err := t.garden.Status().Patch(ctx, shoot,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch the constraints of shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	if why != nil {
		t.events.Event(shoot, corev1.EventTypeWarning, "EvacuationImpossible", why.Error())
	}
	return nil
}

func reasonOf(why error) string {
	if _, is := errors.AsType[*IncompleteError](why); is {
		return "StateIncomplete"
	}
	return "NoDestination"
}
