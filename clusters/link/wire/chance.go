package wire

import (
	"fmt"
	"math"
	"sync"
)

// Chance is how often something happens to a packet, independently or in runs.
type Chance struct {
	// Percent of the packets that it happens to.
	Percent float64 `json:"percent"`
	// Correlation in percent with the packet before: it happens as often, but in longer runs. At 100 the first packet
	// decides for all, as with netem: it may happen to none.
	Correlation float64 `json:"correlation,omitempty"`
}

// Validate wants percentages; what never happens is none.
func (c Chance) Validate() error {
	switch {
	case !(c.Percent > 0 && c.Percent <= 100): // not a number is refused, too
		return fmt.Errorf("%v %% of the packets: must be above 0 and at most 100", c.Percent)
	case !(c.Correlation >= 0 && c.Correlation <= 100):
		return fmt.Errorf("correlation %v %%: must be from 0 to 100", c.Correlation)
	}
	return nil
}

// String is the percentage, with its correlation if it has one.
func (c Chance) String() string {
	if c.Correlation == 0 {
		return fmt.Sprintf("%v%%", c.Percent)
	}
	return fmt.Sprintf("%v%%~%v%%", c.Percent, c.Correlation)
}

// alone says whether it happens to a packet that has nothing to do with others. What may happen does, however rarely.
func (c Chance) alone(roll Dice) bool {
	const parts = 1_000_000_000_000_000 // nearly as fine as the numbers are
	return roll(parts) < int64(math.Ceil(c.Percent/100*parts))
}

// series is a chance at work. netem mixes its numbers instead, so that a correlation changes how often it happens.
type series struct {
	Chance
	roll Dice

	mu          sync.Mutex
	begun, last bool
}

// strikes says whether it happens to the next packet.
func (s *series) strikes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Chance
	switch {
	case !s.begun: // there is none before
	case s.last:
		now.Percent += s.Correlation / 100 * (100 - s.Percent)
	default:
		now.Percent *= 1 - s.Correlation/100
	}
	s.begun, s.last = true, now.alone(s.roll)
	return s.last
}

// segment is how many bytes of a stream one packet has.
const segment = 1448

// packets is how many of them some bytes are; the end of a stream is none.
func packets(bytes int) int { return (bytes + segment - 1) / segment }
