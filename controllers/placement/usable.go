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
	for _, condition := range seed.Status.Conditions {
		switch condition.Type {
		case gardencorev1beta1.SeedGardenletReady, gardencorev1beta1.SeedBackupBucketsReady,
			gardencorev1beta1.SeedExtensionsReady, gardencorev1beta1.SeedSystemComponentsHealthy:
			if why := badCondition(condition); why != "" {
				return why
			}
		}
	}
	return gardenletReports(seed)
}

// gardenletReports is "" if the gardenlet of the seed reports, else why the seed is not ready.
func gardenletReports(seed *gardencorev1beta1.Seed) string {
	for _, condition := range seed.Status.Conditions {
		if condition.Type == gardencorev1beta1.SeedGardenletReady {
			return badCondition(condition)
		}
	}
	return fmt.Sprintf("is not ready: condition %s is not reported", gardencorev1beta1.SeedGardenletReady)
}

func badCondition(condition gardencorev1beta1.Condition) string {
	if condition.Status == gardencorev1beta1.ConditionTrue || condition.Status == gardencorev1beta1.ConditionProgressing {
		return ""
	}
	return fmt.Sprintf("is not ready: condition %s is %s", condition.Type, condition.Status)
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
