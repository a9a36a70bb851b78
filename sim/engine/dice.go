package engine

import (
	"hash/fnv"
	"math/rand/v2"
)

// dice are a stream of chance of its own: another consumer, under another name, does not change what it rolls.
func dice(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
