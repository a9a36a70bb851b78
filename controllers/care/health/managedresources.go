package health

import (
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// managedResources looks at the ManagedResources that count for a condition (docs/specification/care.md#spec-5-4).
func (r round) managedResources(kind gardencorev1beta1.ConditionType) *finding {
	if r.ManagedResources.Err != nil {
		return unseen(fmt.Sprintf("Could not list the ManagedResources: %v", r.ManagedResources.Err))
	}
	for _, m := range sortedByName(r.ManagedResources.Items, func(m *resourcesv1alpha1.ManagedResource) string {
		return m.Name
	}) {
		if !counts(m, kind) {
			continue
		}
		if found := r.managedResource(m); found != nil {
			return found
		}
	}
	return nil
}

// counts is whether a ManagedResource counts for a condition. Those without a class are applied to the shoot.
func counts(m *resourcesv1alpha1.ManagedResource, kind gardencorev1beta1.ConditionType) bool {
	inShoot, label := m.Spec.Class == nil, gardencorev1beta1.ConditionType(m.Labels[constants.CareConditionType])
	switch kind {
	case gardencorev1beta1.ShootControlPlaneHealthy:
		return !inShoot && (label == "" || label == kind)
	case gardencorev1beta1.ShootSystemComponentsHealthy:
		return inShoot || label == kind
	}
	return label == kind
}

// Reasons of ManagedResources that are not taken from their conditions.
const (
	reasonOutdated     = "OutdatedStatus"
	reasonNoCondition  = "MissingManagedResourceCondition"
	reasonRolloutStuck = "ProgressingRolloutStuck"
	reasonApplyFailed  = "ApplyFailed"
)

func (r round) managedResource(m *resourcesv1alpha1.ManagedResource) *finding {
	conditions := map[gardencorev1beta1.ConditionType]gardencorev1beta1.Condition{}
	for _, c := range m.Status.Conditions {
		conditions[c.Type] = c
	}
	if m.Generation != m.Status.ObservedGeneration {
		// What could not be applied is why the status is behind.
		if c := conditions[resourcesv1alpha1.ResourcesApplied]; c.Status == gardencorev1beta1.ConditionFalse &&
			c.Reason == reasonApplyFailed {
			return reported(m, c)
		}
		return failure(reasonOutdated, fmt.Sprintf("ManagedResource %q: %s", m.Namespace+"/"+m.Name,
			outdated(m.Status.ObservedGeneration, m.Generation)))
	}
	var missing []string
	for _, kind := range []gardencorev1beta1.ConditionType{resourcesv1alpha1.ResourcesApplied,
		resourcesv1alpha1.ResourcesHealthy, resourcesv1alpha1.ResourcesProgressing} {
		c, found := conditions[kind]
		if !found {
			missing = append(missing, string(kind))
			continue
		}
		if finding := r.managedCondition(m, c); finding != nil {
			return finding
		}
	}
	if len(missing) > 0 {
		return failure(reasonNoCondition, fmt.Sprintf("ManagedResource %q is missing the following condition(s): %s", m.Name,
			strings.Join(missing, ", ")))
	}
	return nil
}

// reported is what a condition of a ManagedResource says, with the name: its message speaks of objects only.
func reported(m *resourcesv1alpha1.ManagedResource, c gardencorev1beta1.Condition) *finding {
	return failure(c.Reason, fmt.Sprintf("ManagedResource %q: %s", m.Namespace+"/"+m.Name, c.Message))
}

func (r round) managedCondition(m *resourcesv1alpha1.ManagedResource, c gardencorev1beta1.Condition) *finding {
	if c.Type != resourcesv1alpha1.ResourcesProgressing {
		if c.Status == gardencorev1beta1.ConditionFalse || c.Status == gardencorev1beta1.ConditionUnknown {
			return reported(m, c)
		}
		return nil
	}
	if c.Status != gardencorev1beta1.ConditionTrue && c.Status != gardencorev1beta1.ConditionUnknown {
		return nil
	}
	if r.ProgressingManagedResources == 0 {
		return reported(m, c)
	}
	if r.Now.Sub(c.LastTransitionTime.Time) < r.ProgressingManagedResources {
		return nil
	}
	return failure(reasonRolloutStuck, fmt.Sprintf("ManagedResource %q is progressing for more than %s", m.Name,
		r.ProgressingManagedResources))
}
