package seed

import (
	"time"

	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// lostSeeds are the seeds that have been silent for the grace period, by name, and next is after how long one more of
// them is; zero if none will be. While every seed is silent none is lost, as for Evacuation: it is more likely that the
// garden is cut off.
//
// Evacuation, which cannot be taken back, counts by itself and without a break. Here the time of the condition counts:
// a restart of the garden-controller-manager must not give a lost seed its rights back.
func lostSeeds(
	seeds []gardencorev1beta1.Seed, clock clock.PassiveClock, grace time.Duration,
) (lost map[string]bool, next time.Duration) {
	silent := 0
	lost = map[string]bool{}
	for i := range seeds {
		since, is := silentSince(&seeds[i])
		if !is {
			continue
		}
		silent++
		switch left := grace - clock.Since(since); {
		case left <= 0:
			lost[seeds[i].Name] = true
		case next == 0 || left < next:
			next = left
		}
	}
	if silent == len(seeds) {
		return nil, 0 // one that reports again changes its Seed, which wakes who asks
	}
	return lost, next
}

// silentSince is when the GardenletReady of the seed became Unknown, if it is.
func silentSince(seed *gardencorev1beta1.Seed) (since time.Time, silent bool) {
	for _, condition := range seed.Status.Conditions {
		unknown := condition.Status == gardencorev1beta1.ConditionUnknown
		if condition.Type == gardencorev1beta1.SeedGardenletReady && unknown {
			return condition.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
