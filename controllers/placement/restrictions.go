package placement

import (
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func restrictionsSupported(q *Question, seed *gardencorev1beta1.Seed) string {
	supported := map[string]bool{}
	for _, restriction := range seed.Spec.AccessRestrictions {
		supported[restriction.Name] = true
	}
	var missing []string
	for _, restriction := range q.Shoot.Spec.AccessRestrictions {
		if !supported[restriction.Name] {
			missing = append(missing, fmt.Sprintf("%q", restriction.Name))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "does not support access restrictions of spec.accessRestrictions: " + strings.Join(missing, ", ")
}
