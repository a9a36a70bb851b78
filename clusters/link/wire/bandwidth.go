package wire

import (
	"fmt"
	"sync"
	"time"
)

// visible is the shortest wait that is a hit: nobody sees that a fast line takes some microseconds.
const visible = time.Millisecond

// Bandwidth lets no more than BytesPerSecond pass in each direction it covers, all connections of the link together.
// It counts bytes on the wire, those of TLS included. It hits bytes that it makes late by a millisecond at least.
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
	lines := map[Direction]*line{ToServer: {}, ToClient: {}}
	return Effect{Direction: b.Direction, Pace: func(t Transit, copies int) Paced {
		mu.Lock()
		defer mu.Unlock()
		l, own, all := lines[t.Direction], b.takes(t.Bytes), b.takes(t.Bytes+copies)
		l.busy = end(l.busy, t.Now, all)
		l.due = end(l.due, t.Arrived, all)
		l.dueAlone = end(l.dueAlone, t.Arrived, own)
		burst := b.takes(int(b.Burst))
		at, due, alone := l.busy.Add(-burst), l.due.Add(-burst).Sub(t.Arrived), l.dueAlone.Add(-burst).Sub(t.Arrived)
		return Paced{At: at, Hits: max(at.Sub(t.Now), due) >= visible, CopiesHit: due-max(alone, 0) >= visible}
	}}
}

// line is one direction of a bandwidth.
type line struct {
	// busy is until when it sends what was given to it. Bytes of one connection are given to it one after the other.
	busy time.Time
	// due is until when it would be busy if bytes were given to it as they arrive, dueAlone without their copies.
	due, dueAlone time.Time
}

// end of what takes so long, and begins when the line is free.
func end(busy, from time.Time, takes time.Duration) time.Time {
	if busy.After(from) {
		from = busy
	}
	return from.Add(takes)
}

// takes is how long so many bytes are under way.
func (b Bandwidth) takes(bytes int) time.Duration {
	return time.Duration(float64(bytes) / float64(b.BytesPerSecond) * float64(time.Second))
}
