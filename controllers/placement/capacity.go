package placement

import (
	"fmt"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Usage is the number of shoots by seed.
type Usage map[string]int

// UsageOf counts shoots by seed. One that moves counts on both: until it has left it takes room there. Shoots with the
// given namespace and name are not counted: it is the one to be placed.
func UsageOf(shoots []gardencorev1beta1.Shoot, except *gardencorev1beta1.Shoot) Usage {
	usage := Usage{}
	for i := range shoots {
		shoot := &shoots[i]
		if shoot.Namespace == except.Namespace && shoot.Name == except.Name {
			continue
		}
		spec, status := ptr.Deref(shoot.Spec.SeedName, ""), ptr.Deref(shoot.Status.SeedName, "")
		if spec != "" {
			usage[spec]++
		}
		if status != "" && status != spec {
			usage[status]++
		}
	}
	return usage
}

func roomLeft(q *Question, seed *gardencorev1beta1.Seed) string {
	allocatable, limited := seed.Status.Allocatable[gardencorev1beta1.SeedResourceShoots]
	if !limited || int64(q.Usage[seed.Name]) < allocatable.Value() {
		return ""
	}
	return fmt.Sprintf("is full: it has %d shoots and status.allocatable.shoots is %d", q.Usage[seed.Name],
		allocatable.Value())
}
