package shootrules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// hibernationPossible refuses to put a shoot to sleep that might not wake up: the constraint HibernationPossible is
// there and not True (docs/specification/care.md#spec-5-5).
func hibernationPossible(r *Request, _ *garden) field.ErrorList {
	if !r.fallsAsleep() {
		return nil
	}
	for _, constraint := range r.Old.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootHibernationPossible &&
			constraint.Status != gardencorev1beta1.ConditionTrue {
			why := fmt.Sprintf("must not become true while constraint %s is %s: %s", constraint.Type, constraint.Status,
				constraint.Message)
			return field.ErrorList{field.Forbidden(field.NewPath("spec", "hibernation", "enabled"), why)}
		}
	}
	return nil
}
