package probe

import (
	"fmt"
	"math/rand/v2"
	"sync"
)

// rotating is how many keys are written again and again.
const rotating = 10

// key is one ConfigMap that is written again and again, by one write at a time. After a write whose outcome is unknown
// it is left alone and a new one takes its place: so its last number is always one of the last write that was
// acknowledged, and those after it.
type key struct {
	slot, generation int
	created          bool
}

func (k key) name() string { return fmt.Sprintf("r-%d-%d", k.slot, k.generation) }

// Keys are the keys of one load. They are shared by its writer and its reader.
type Keys struct {
	dice *rand.Rand

	mu     sync.Mutex
	number int
	slots  [rotating]key
	busy   [rotating]bool
}

// NewKeys for a load.
func NewKeys(dice *rand.Rand) *Keys {
	k := &Keys{dice: dice}
	for slot := range k.slots {
		k.slots[slot].slot = slot
	}
	return k
}

// next gives the number of the next write and, for every second write on average, the key to write again. rotated is
// false for a write that creates a key of its own.
func (k *Keys) next() (number int, chosen key, rotated bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.number++
	slot := k.dice.IntN(2 * rotating)
	if slot >= rotating || k.busy[slot] {
		return k.number, key{}, false
	}
	k.busy[slot] = true
	return k.number, k.slots[slot], true
}

// skip gives the number of a write that creates a key of its own.
func (k *Keys) skip() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.number++
	return k.number
}

// done gives a rotating key back.
func (k *Keys) done(used key, written, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy[used.slot] = false
	slot := &k.slots[used.slot]
	switch {
	case !known:
		slot.generation++
		slot.created = false
	case written:
		slot.created = true
	}
}

// created picks a rotating key that is there.
func (k *Keys) created() (name string, any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.dice.IntN(rotating)
	for i := range rotating {
		if slot := k.slots[(first+i)%rotating]; slot.created {
			return slot.name(), true
		}
	}
	return "", false
}
