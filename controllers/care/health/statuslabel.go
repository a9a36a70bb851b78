package health

import (
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// StatusLabel is a value of the label shoot.gardener.cloud/status, from good to bad.
type StatusLabel string

// Values of the label, the better ones first.
const (
	statusHealthy     StatusLabel = "healthy"
	statusProgressing StatusLabel = "progressing"
	statusUnknown     StatusLabel = "unknown"
	statusUnhealthy   StatusLabel = "unhealthy"
)

var badness = map[StatusLabel]int{statusHealthy: 0, statusProgressing: 1, statusUnknown: 2, statusUnhealthy: 3}

// Label is the overall status of a shoot (docs/specification/care.md#spec-5-10), and what decided it. Constraints do
// not count.
func Label(status *gardencorev1beta1.ShootStatus) (StatusLabel, string) {
	last := status.LastOperation
	errorsDecide, why := statusHealthy, "there are no last errors"
	if len(status.LastErrors) > 0 {
		errorsDecide, why = statusUnhealthy, "there are last errors"
	}
	switch {
	case last == nil:
		return statusHealthy, "there was no operation yet"
	case last.Type == gardencorev1beta1.LastOperationTypeDelete,
		last.Type == gardencorev1beta1.LastOperationTypeCreate && last.State != gardencorev1beta1.LastOperationStateSucceeded:
		return errorsDecide, "during " + string(last.Type) + " only errors count: " + why
	case last.State == gardencorev1beta1.LastOperationStateProcessing:
		return worst(status.Conditions, errorsDecide, why)
	case last.State == gardencorev1beta1.LastOperationStateSucceeded:
		return worst(status.Conditions, statusHealthy, "the last operation has succeeded")
	}
	return worst(status.Conditions, statusUnhealthy, "the last operation is "+string(last.State))
}

// worst is the worst of the conditions and of what was found already.
func worst(conditions []gardencorev1beta1.Condition, label StatusLabel, why string) (StatusLabel, string) {
	for _, c := range conditions {
		if of := labelOf(c.Status); badness[of] > badness[label] {
			label, why = of, "condition "+string(c.Type)+" is "+string(c.Status)
		}
	}
	return label, why
}

func labelOf(status gardencorev1beta1.ConditionStatus) StatusLabel {
	switch status {
	case gardencorev1beta1.ConditionTrue:
		return statusHealthy
	case gardencorev1beta1.ConditionProgressing:
		return statusProgressing
	case gardencorev1beta1.ConditionUnknown:
		return statusUnknown
	}
	return statusUnhealthy
}
