package wire

import (
	"fmt"
	"sync"
	"time"
)

// Bandwidth lets no more than BytesPerSecond pass in each direction it covers, all connections of the link together.
// It counts bytes on the wire, those of TLS included.
type Bandwidth struct {
	Direction      Direction
	BytesPerSecond int64
}

var _ Fault = Bandwidth{}

// Name is "Bandwidth(direction,n B/s)".
func (b Bandwidth) Name() string {
	return fmt.Sprintf("Bandwidth(%s,%d B/s)", b.Direction, b.BytesPerSecond)
}

// Validate wants at least one byte per second.
func (b Bandwidth) Validate() error {
	if b.BytesPerSecond < 1 {
		return fmt.Errorf("bandwidth %d B/s: must be at least 1", b.BytesPerSecond)
	}
	return b.Direction.validate()
}

// Start begins the fault on one link.
func (b Bandwidth) Start(Dice) Effect {
	var mu sync.Mutex
	busyUntil := map[Direction]time.Time{}
	return Effect{
		Direction: b.Direction,
		Release: func(t Transit) time.Time {
			mu.Lock()
			defer mu.Unlock()
			from := t.Now
			if busy := busyUntil[t.Direction]; busy.After(from) {
				from = busy
			}
			takes := time.Duration(float64(t.Bytes) / float64(b.BytesPerSecond) * float64(time.Second))
			busyUntil[t.Direction] = from.Add(takes)
			return busyUntil[t.Direction]
		},
	}
}
