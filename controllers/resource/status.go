package resource

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reasons of the conditions.
const (
	reasonApplySucceeded   = "ApplySucceeded"
	reasonApplyProgressing = "ApplyProgressing"
	reasonApplyFailed      = "ApplyFailed"
	reasonDecodingFailed   = "DecodingFailed"
	reasonCannotReadSecret = "CannotReadSecret"
	reasonReleaseFailed    = "ReleaseOfOrphanedResourcesFailed"
	reasonDeletionPending  = "DeletionPending"
	reasonDeletionFailed   = "DeletionFailed"
	reasonChecksPending    = "ChecksPending"
	reasonHealthy          = "ResourcesHealthy"
	reasonRolledOut        = "ResourcesRolledOut"
	reasonIgnored          = "ManagedResourceIgnored"
)

func applied(status gardencorev1beta1.ConditionStatus, reason, message string) gardencorev1beta1.Condition {
	return gardencorev1beta1.Condition{Type: resourcesv1alpha1.ResourcesApplied, Status: status, Reason: reason,
		Message: message}
}

func healthy(status gardencorev1beta1.ConditionStatus, reason, message string) gardencorev1beta1.Condition {
	return gardencorev1beta1.Condition{Type: resourcesv1alpha1.ResourcesHealthy, Status: status, Reason: reason,
		Message: message}
}

func progressing(status gardencorev1beta1.ConditionStatus, reason, message string) gardencorev1beta1.Condition {
	return gardencorev1beta1.Condition{Type: resourcesv1alpha1.ResourcesProgressing, Status: status, Reason: reason,
		Message: message}
}

// setConditions puts conditions in the place of those of their type. An unchanged one stays as it is; the time of the
// last transition is that of the last change of its status.
func (r *Reconciler) setConditions(status *resourcesv1alpha1.ManagedResourceStatus,
	conditions ...gardencorev1beta1.Condition) {
	now := metav1.NewTime(r.Clock.Now())
	for _, condition := range conditions {
		condition.LastTransitionTime, condition.LastUpdateTime = now, now
		i := slices.IndexFunc(status.Conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == condition.Type })
		if i < 0 {
			status.Conditions = append(status.Conditions, condition)
			continue
		}
		have := status.Conditions[i]
		if have.Status == condition.Status {
			condition.LastTransitionTime = have.LastTransitionTime
			if have.Reason == condition.Reason && have.Message == condition.Message {
				continue
			}
		}
		status.Conditions[i] = condition
	}
}

// failing reports whether ResourcesApplied is False: something went wrong in the last round.
func failing(conditions []gardencorev1beta1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c gardencorev1beta1.Condition) bool {
		return c.Type == resourcesv1alpha1.ResourcesApplied && c.Status == gardencorev1beta1.ConditionFalse
	})
}

// patchStatus writes what mutate changes in the status, if anything.
func (r *Reconciler) patchStatus(ctx context.Context, managed *resourcesv1alpha1.ManagedResource,
	mutate func(*resourcesv1alpha1.ManagedResourceStatus)) error {
	return client.IgnoreNotFound(patch.Status(ctx, r.Source, managed, func() { mutate(&managed.Status) }))
}
