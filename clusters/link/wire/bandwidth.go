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
	// Burst is how many bytes pass at once after a pause, which lasts as long as they would take.
	Burst int64
}

var _ Fault = Bandwidth{}

// Name is "Bandwidth(direction,n B/s)", with its burst if it has one.
func (b Bandwidth) Name() string {
	if b.Burst == 0 {
		return fmt.Sprintf("Bandwidth(%s,%d B/s)", b.Direction, b.BytesPerSecond)
	}
	return fmt.Sprintf("Bandwidth(%s,%d B/s,burst %d B)", b.Direction, b.BytesPerSecond, b.Burst)
}

// Validate wants at least one byte per second.
func (b Bandwidth) Validate() error {
	if b.BytesPerSecond < 1 {
		return fmt.Errorf("bandwidth %d B/s: must be at least 1", b.BytesPerSecond)
	}
	if b.Burst < 0 {
		return fmt.Errorf("burst of %d B: must not be negative", b.Burst)
	}
	return b.Direction.validate()
}

// Start begins the fault on one link.
func (b Bandwidth) Start(Dice) Effect {
	var mu sync.Mutex
	busyUntil := map[Direction]time.Time{}
	return Effect{
		Direction: b.Direction,
		Rated:     true,
		Release: func(t Transit) time.Time {
			mu.Lock()
			defer mu.Unlock()
			from := t.Now
			if busy := busyUntil[t.Direction]; busy.After(from) {
				from = busy
			}
			busyUntil[t.Direction] = from.Add(b.takes(int64(t.Bytes)))
			return busyUntil[t.Direction].Add(-b.takes(b.Burst))
		},
	}
}

// takes is how long so many bytes are under way.
func (b Bandwidth) takes(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(b.BytesPerSecond) * float64(time.Second))
}
