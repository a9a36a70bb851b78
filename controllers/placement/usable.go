package placement

import (
	"fmt"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

func notInDeletion(_ *Question, seed *gardencorev1beta1.Seed) string {
	if seed.DeletionTimestamp == nil {
		return ""
	}
	return "is being deleted"
}

func visible(_ *Question, seed *gardencorev1beta1.Seed) string {
	if settings := seed.Spec.Settings; settings != nil && settings.Scheduling != nil && !settings.Scheduling.Visible {
		return "is not visible for scheduling"
	}
	return ""
}

// ready asks for a gardenlet that reports, and that no condition which is reported speaks against the seed.
func ready(_ *Question, seed *gardencorev1beta1.Seed) string {
	gardenlet := false
	for _, condition := range seed.Status.Conditions {
		switch condition.Type {
		case gardencorev1beta1.SeedGardenletReady, gardencorev1beta1.SeedBackupBucketsReady,
			gardencorev1beta1.SeedExtensionsReady, gardencorev1beta1.SeedSystemComponentsHealthy:
		default:
			continue
		}
		good := condition.Status == gardencorev1beta1.ConditionTrue ||
			condition.Status == gardencorev1beta1.ConditionProgressing
		if !good {
			return fmt.Sprintf("is not ready: condition %s is %s", condition.Type, condition.Status)
		}
		gardenlet = gardenlet || condition.Type == gardencorev1beta1.SeedGardenletReady
	}
	if !gardenlet {
		return fmt.Sprintf("is not ready: condition %s is not reported", gardencorev1beta1.SeedGardenletReady)
	}
	return ""
}

func notStopped(_ *Question, seed *gardencorev1beta1.Seed) string {
	if seed.Annotations[constants.ShootEmergencyStopReconciliations] == constants.LabelTrue {
		return "has stopped the operations on its shoots in an emergency"
	}
	for _, condition := range seed.Status.Conditions {
		if condition.Type == gardencorev1beta1.SeedEmergencyStopShootReconciliations &&
			condition.Status == gardencorev1beta1.ConditionTrue {
			return "has stopped the operations on its shoots in an emergency"
		}
	}
	return ""
}
