package wire

import (
	"fmt"
	"math"
	"time"
)

// forever is longer than any run.
const forever = time.Duration(math.MaxInt64)

// Cut is a partition: bytes in its direction are swallowed, nothing is answered and nothing is closed. Open connections
// freeze, open watches included; new connections are accepted and never answered, or refused when Refuse is set. When
// it is healed, connections that lived through it are closed, and new ones work at once.
type Cut struct {
	Direction Direction
	Refuse    bool
}

var _ Fault = Cut{}

// Name is "Cut(direction)", with ",refuse" when new connections are refused.
func (c Cut) Name() string {
	if c.Refuse {
		return fmt.Sprintf("Cut(%s,refuse)", c.Direction)
	}
	return fmt.Sprintf("Cut(%s)", c.Direction)
}

// Validate refuses unknown directions.
func (c Cut) Validate() error { return c.Direction.validate() }

// Start begins the fault on one link.
func (c Cut) Start(Dice) Effect {
	return Effect{
		Direction: c.Direction,
		Release:   func(t Transit) time.Time { return t.Now.Add(forever) },
		Cuts:      true,
		Refuses:   c.Refuse,
	}
}
