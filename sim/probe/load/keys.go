package load

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// rotating is how many keys are written again and again.
const rotating = 10

// key is one ConfigMap that is written again and again, by one write at a time. After a write whose outcome is unknown
// it is left alone and a new one takes its place: so its last number is always one of the last write that was
// acknowledged, and those after it. It is left alone, too, when it is not as its last write has left it: a restore has
// lost that write, and one more would hide it.
type key struct {
	slot, generation int
	created          bool
	version          int64 // resource version of its last write
}

func (k key) name() string { return fmt.Sprintf("r-%d-%d", k.slot, k.generation) }

// Keys are the keys of one load. They are shared by its writer and its reader.
type Keys struct {
	dice *rand.Rand

	mu     sync.Mutex
	number int
	slots  [rotating]key
	busy   [rotating]bool
	left   []string // names of keys that were found to be older: they are read on
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

// done gives a rotating key back after a write to it.
func (k *Keys) done(used key, write timeline.Write) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy[used.slot] = false
	slot := &k.slots[used.slot]
	refused := write.Status == http.StatusConflict || write.Status == http.StatusNotFound
	switch {
	case write.Outcome == timeline.Acknowledged:
		slot.created, slot.version = true, write.ResourceVersion
	case write.Outcome == timeline.Failed && refused && slot.created:
		k.left = append(k.left, slot.name())
		fallthrough
	case write.Outcome == timeline.Unknown || refused:
		*slot = key{slot: used.slot, generation: slot.generation + 1}
	}
}

// created picks a rotating key that is there, or was.
func (k *Keys) created() (name string, any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := k.dice.IntN(rotating + len(k.left))
	if first >= rotating {
		return k.left[first-rotating], true
	}
	for i := range rotating {
		if slot := k.slots[(first+i)%rotating]; slot.created {
			return slot.name(), true
		}
	}
	return "", false
}
