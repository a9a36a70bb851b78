package placement

import (
	"fmt"
	"net/netip"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

type network struct{ name, cidr string }

// networksDisjoint asks that no network of the shoot overlaps with one of the seed. Networks that are not given yet are
// chosen later, and a shoot without workers has services only.
func networksDisjoint(q *Question, seed *gardencorev1beta1.Seed) string {
	networking := q.Shoot.Spec.Networking
	if networking == nil {
		return ""
	}
	mine := []network{{"spec.networking.services", ptr.Deref(networking.Services, "")}}
	if len(q.Shoot.Spec.Provider.Workers) > 0 {
		mine = append(mine,
			network{"spec.networking.pods", ptr.Deref(networking.Pods, "")},
			network{"spec.networking.nodes", ptr.Deref(networking.Nodes, "")})
	}
	theirs := []network{
		{"pods", seed.Spec.Networks.Pods}, {"services", seed.Spec.Networks.Services},
		{"nodes", ptr.Deref(seed.Spec.Networks.Nodes, "")},
	}
	for _, shoots := range mine {
		for _, seeds := range theirs {
			if overlap(shoots.cidr, seeds.cidr) {
				return fmt.Sprintf("has a network that overlaps: its %s %s and %s %s", seeds.name, seeds.cidr, shoots.name,
					shoots.cidr)
			}
		}
	}
	return ""
}

// overlap is false for what is no CIDR: others complain about that.
func overlap(a, b string) bool {
	first, err := netip.ParsePrefix(a)
	if err != nil {
		return false
	}
	second, err := netip.ParsePrefix(b)
	return err == nil && first.Overlaps(second)
}
