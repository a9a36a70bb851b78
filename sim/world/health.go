package world

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// operationDone is whether the last operation has succeeded and was none that takes the control plane away.
func operationDone(o *gardencorev1beta1.LastOperation) bool {
	return o != nil && o.State == gardencorev1beta1.LastOperationStateSucceeded &&
		o.Type != gardencorev1beta1.LastOperationTypeMigrate && o.Type != gardencorev1beta1.LastOperationTypeDelete
}

// problems are why a shoot is not healthy although its last operation has succeeded: it is not where it shall be, not
// as awake as it shall be, something newer is asked for, or a condition is not True. One that is missing and must
// be there counts too (docs/specification/care.md#spec-5-2). Constraints do not count: they say what may be done with a
// shoot.
func problems(shoot *gardencorev1beta1.Shoot) []string {
	var all []string
	status := shoot.Status
	if shoot.DeletionTimestamp != nil {
		all = append(all, "its deletion was asked for")
	}
	if is, shall := ptr.Deref(status.SeedName, ""), ptr.Deref(shoot.Spec.SeedName, ""); is == "" || is != shall {
		all = append(all, fmt.Sprintf("it runs on seed %q and is bound to %q", is, shall))
	}
	if shall := WantsToSleep(shoot); shall != status.IsHibernated {
		all = append(all, fmt.Sprintf("hibernated is %t and shall be %t", status.IsHibernated, shall))
	}
	if status.ObservedGeneration < shoot.Generation {
		observed := fmt.Sprintf("generation %d is observed, %d is asked for", status.ObservedGeneration, shoot.Generation)
		all = append(all, observed)
	}
	for _, c := range status.Conditions {
		if why := conditionProblem(shoot, c); why != "" {
			all = append(all, why)
		}
	}
	for _, kind := range requiredConditions(shoot) {
		isIt := func(c gardencorev1beta1.Condition) bool { return c.Type == kind }
		if !slices.ContainsFunc(status.Conditions, isIt) {
			all = append(all, fmt.Sprintf("condition %s is missing", kind))
		}
	}
	return all
}

// requiredConditions must be there, sleeping or not. A shoot without workers has no nodes, and
// ObservabilityComponentsHealthy is only there where something is to be observed.
func requiredConditions(shoot *gardencorev1beta1.Shoot) []gardencorev1beta1.ConditionType {
	required := []gardencorev1beta1.ConditionType{
		gardencorev1beta1.ShootAPIServerAvailable, gardencorev1beta1.ShootControlPlaneHealthy,
		gardencorev1beta1.ShootSystemComponentsHealthy,
	}
	if len(shoot.Spec.Provider.Workers) > 0 {
		required = append(required, gardencorev1beta1.ShootEveryNodeReady)
	}
	return required
}

// conditionProblem is why a condition counts against the shoot; empty if it does not. A condition of a shoot that is
// awake must not say that it was not checked: then nobody has looked since the shoot slept.
func conditionProblem(shoot *gardencorev1beta1.Shoot, c gardencorev1beta1.Condition) string {
	notChecked := c.Reason == gardencorev1beta1.ConditionNotChecked && !shoot.Status.IsHibernated
	if c.Status == gardencorev1beta1.ConditionTrue && !notChecked {
		return ""
	}
	text := fmt.Sprintf("%s is %s", c.Type, c.Status)
	if why := (timeline.ConditionIs{Reason: c.Reason, Message: c.Message}).Why(); why != "" {
		text += " (" + why + ")"
	}
	return text
}
