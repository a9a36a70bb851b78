package window

import (
	"hash/fnv"
	"math"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Chance is a number in [0, 1) for a shoot and an occasion: always the same for these two, so that whoever asks again
// gets the same answer, and evenly spread over shoots and occasions.
func Chance(shoot *gardencorev1beta1.Shoot, occasion string) float64 {
	dice := fnv.New64a()
	for _, text := range []string{string(shoot.UID), shoot.Namespace, shoot.Name, occasion} {
		_, _ = dice.Write([]byte(text + "\x00")) // never fails
	}
	return float64(mix(dice.Sum64())>>11) / math.Exp2(53)
}

// mix spreads a hash over all its bits (the end of MurmurHash3): texts that differ in their last letters only would
// otherwise give moments beside each other.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
