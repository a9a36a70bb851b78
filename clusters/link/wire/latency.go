package wire

import (
	"fmt"
	"sync"
	"time"
)

// Latency delays bytes in its direction by Delay, give or take up to Jitter. Order is kept and throughput is not
// limited; in direction Both a round trip takes twice the delay longer.
type Latency struct {
	Direction Direction
	Delay     time.Duration
	Jitter    time.Duration
	// Correlation in percent of a jitter with the one before; at 100 the first one stays.
	Correlation float64
	// Overtaking are bytes that are not delayed. TCP has them wait for those before them, which they cannot overtake.
	Overtaking Chance
	// Gap is the first of so many parcels that may overtake; each one may when it is not given.
	Gap int
}

var _ Fault = Latency{}

// Name is "Latency(direction,delay±jitter)", with what else it has.
func (l Latency) Name() string {
	text := l.Delay.String()
	if l.Jitter != 0 {
		text += "±" + l.Jitter.String()
	}
	if l.Correlation != 0 {
		text += fmt.Sprintf("~%v%%", l.Correlation)
	}
	if l.Overtaking != (Chance{}) {
		text += fmt.Sprintf(",overtaking %s", l.Overtaking)
	}
	return fmt.Sprintf("Latency(%s,%s)", l.Direction, text)
}

// Validate wants a positive delay and a jitter that is not larger than the delay.
func (l Latency) Validate() error {
	switch {
	case l.Delay <= 0:
		return fmt.Errorf("delay %s: must be positive", l.Delay)
	case l.Jitter < 0 || l.Jitter > l.Delay:
		return fmt.Errorf("jitter %s: must be between 0 and the delay %s", l.Jitter, l.Delay)
	case !(l.Correlation >= 0 && l.Correlation <= 100):
		return fmt.Errorf("correlation %v %%: must be from 0 to 100", l.Correlation)
	case l.Gap < 0:
		return fmt.Errorf("gap %d: must not be negative", l.Gap)
	case l.Overtaking != (Chance{}):
		if err := l.Overtaking.Validate(); err != nil {
			return err
		}
	}
	return l.Direction.validate()
}

// Start begins the fault on one link.
func (l Latency) Start(roll Dice) Effect {
	r := &latencies{Latency: l, roll: roll, overtaking: series{Chance: l.Overtaking, roll: roll}}
	return Effect{Direction: l.Direction, Release: func(t Transit) time.Time { return t.Arrived.Add(r.next()) }}
}

// latencies are those of one link, one parcel after the other.
type latencies struct {
	Latency
	roll       Dice
	overtaking series

	mu      sync.Mutex
	delayed int // parcels since one has overtaken
	begun   bool
	last    float64
}

func (l *latencies) next() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Overtaking.Percent > 0 && l.delayed >= l.Gap-1 && l.overtaking.strikes() {
		l.delayed = 0
		return 0
	}
	l.delayed++
	if l.Jitter == 0 {
		return l.Delay
	}
	jitter := float64(l.roll(2*int64(l.Jitter)+1)) - float64(l.Jitter)
	kept := l.Correlation / 100
	if !l.begun {
		kept = 0 // there is none before
	}
	l.begun, l.last = true, kept*l.last+(1-kept)*jitter // as netem does
	return l.Delay + time.Duration(l.last)
}
