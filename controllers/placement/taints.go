package placement

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Tolerated reports whether the tolerations let a shoot onto a seed with the taints
// (docs/specification/nodes-and-seeds.md#spec-7-2). Every taint must be tolerated. Of several tolerations with one key
// the last counts, and there must be at least as many tolerations as taints: so Gardener has it.
func Tolerated(taints []gardencorev1beta1.SeedTaint, tolerations []gardencorev1beta1.Toleration) bool {
	return len(taints) == 0 || (len(taints) <= len(tolerations) && len(untolerated(taints, tolerations)) == 0)
}

// untolerated are the taints that no toleration speaks of.
func untolerated(taints []gardencorev1beta1.SeedTaint, tolerations []gardencorev1beta1.Toleration) []string {
	values := map[string]string{}
	for _, toleration := range tolerations {
		values[toleration.Key] = ptr.Deref(toleration.Value, "")
	}
	var left []string
	for _, taint := range taints {
		value, found := values[taint.Key]
		if !found || (taint.Value != nil && *taint.Value != value) {
			left = append(left, describeTaint(taint))
		}
	}
	return left
}

func describeTaint(taint gardencorev1beta1.SeedTaint) string {
	if taint.Value == nil {
		return fmt.Sprintf("%q", taint.Key)
	}
	return fmt.Sprintf("%q", taint.Key+"="+*taint.Value)
}

func taintsTolerated(q *Question, seed *gardencorev1beta1.Seed) string {
	taints, tolerations := seed.Spec.Taints, q.Shoot.Spec.Tolerations
	if Tolerated(taints, tolerations) {
		return ""
	}
	if left := untolerated(taints, tolerations); len(left) > 0 {
		return "has taints that spec.tolerations does not tolerate: " + strings.Join(left, ", ")
	}
	return fmt.Sprintf("has %d taints, more than the shoot's %d tolerations", len(taints), len(tolerations))
}
