package wire

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
)

// Duplicate sends packets in its direction twice, as far as a stream has any: bytes are taken as packets of 1448. TCP
// drops the second one, so that it only takes room: it counts in the bytes of the link, and for faults of its
// bandwidth. It hits something when bytes wait a millisecond longer for that: alone it has no hits.
type Duplicate struct {
	Direction Direction `json:"direction,omitempty"`
	Chance    `json:",inline"`
}

var _ Fault = Duplicate{}

// Name is "Duplicate(direction,percent)".
func (d Duplicate) Name() string { return fmt.Sprintf("Duplicate(%s,%s)", d.Direction, d.Chance) }

// Validate wants percentages.
func (d Duplicate) Validate() error {
	if err := d.Chance.Validate(); err != nil {
		return err
	}
	return d.Direction.validate()
}

// Start begins the fault on one link.
func (d Duplicate) Start(roll Dice) Effect {
	twice := &series{Chance: d.Chance, roll: roll}
	return Effect{Direction: d.Direction, Copies: func(bytes int) (more int) {
		for rest := bytes; rest > 0; rest -= segment {
			if twice.strikes() {
				more += min(rest, segment)
			}
		}
		return more
	}}
}

// MarshalJSON writes the fault with its type.
func (d Duplicate) MarshalJSON() ([]byte, error) {
	type plain Duplicate
	return faultjson.Marshal("Duplicate", plain(d))
}
