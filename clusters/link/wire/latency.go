package wire

import (
	"fmt"
	"time"
)

// Latency delays bytes in its direction by Delay, give or take up to Jitter. Order is kept and throughput is not
// limited; in direction Both a round trip takes twice the delay longer.
type Latency struct {
	Direction Direction
	Delay     time.Duration
	Jitter    time.Duration
}

var _ Fault = Latency{}

// Name is "Latency(direction,delay±jitter)".
func (l Latency) Name() string {
	if l.Jitter == 0 {
		return fmt.Sprintf("Latency(%s,%s)", l.Direction, l.Delay)
	}
	return fmt.Sprintf("Latency(%s,%s±%s)", l.Direction, l.Delay, l.Jitter)
}

// Validate wants a positive delay and a jitter that is not larger than the delay.
func (l Latency) Validate() error {
	switch {
	case l.Delay <= 0:
		return fmt.Errorf("delay %s: must be positive", l.Delay)
	case l.Jitter < 0 || l.Jitter > l.Delay:
		return fmt.Errorf("jitter %s: must be between 0 and the delay %s", l.Jitter, l.Delay)
	}
	return l.Direction.validate()
}

// Start begins the fault on one link.
func (l Latency) Start(roll Dice) Effect {
	return Effect{
		Direction: l.Direction,
		Release: func(t Transit) time.Time {
			if l.Jitter == 0 {
				return t.Arrived.Add(l.Delay)
			}
			jitter := time.Duration(roll(2*int64(l.Jitter)+1)) - l.Jitter
			return t.Arrived.Add(l.Delay + jitter)
		},
	}
}
