package migration

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// reporter reports why a shoot cannot be evacuated, in its constraint EvacuationPossible.
type reporter struct {
	garden client.Client
	clock  clock.PassiveClock
	events scope.Events
}

// report sets the constraint, with an event, once for each reason; nil removes the constraint.
func (r reporter) report(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) error {
	if !r.changes(shoot, why) {
		return nil
	}
	constraints := r.constraints(shoot, why)
	if err := patch.LockedStatus(ctx, r.garden, shoot, func() { shoot.Status.Constraints = constraints }); err != nil {
		return err
	}
	if why != nil {
		r.events.Event(shoot, corev1.EventTypeWarning, "EvacuationImpossible", why.Error())
	}
	return nil
}

// changes reports whether the shoot does not say so yet.
func (r reporter) changes(shoot *gardencorev1beta1.Shoot, why error) bool {
	return !equality.Semantic.DeepEqual(r.constraints(shoot, why), shoot.Status.Constraints)
}

func (r reporter) constraints(shoot *gardencorev1beta1.Shoot, why error) []gardencorev1beta1.Condition {
	if why == nil {
		return without(shoot.Status.Constraints, gardencorev1beta1.ShootEvacuationPossible)
	}
	return with(slices.Clone(shoot.Status.Constraints), gardencorev1beta1.Condition{
		Type: gardencorev1beta1.ShootEvacuationPossible, Status: gardencorev1beta1.ConditionFalse, Reason: reasonOf(why),
		Message: why.Error(),
	}, r.clock)
}

func reasonOf(why error) string {
	if _, is := errors.AsType[*IncompleteError](why); is {
		return "StateIncomplete"
	}
	return "NoDestination"
}
