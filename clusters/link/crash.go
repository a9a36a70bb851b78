package link

import "fmt"

// Crash is the point at which an actor dies: before the server sees one of its writes, or after the server has carried
// it out and before the actor knows. The hook of the injection ends the actor; its connection is closed in any case.
// Writes of Leases and Events do not count, unless the resource is named.
type Crash struct {
	Match Match  `json:"match,omitzero"`
	Turn  Turn   `json:"turn,omitzero"`
	At    Moment `json:"at,omitempty"`
}

var _ Fault = Crash{}

// Name is "Crash(moment,requests)".
func (c Crash) Name() string {
	if c.At == After {
		return fmt.Sprintf("Crash(%s,%s)", After, c.Match)
	}
	return fmt.Sprintf("Crash(%s,%s)", Before, c.Match)
}

// Validate finds unknown verbs and moments.
func (c Crash) Validate() error { return valid(c.Match, c.Turn, c.At) }

func (c Crash) turn() Turn { return c.Turn }

func (c Crash) start(dice) *effect {
	return &effect{match: c.Match, writes: true, intended: true, carriedOut: true,
		serve: func(a *active, x *exchange, next func(*exchange)) {
			a.at(c.At, x, next, func() bool { return false })
		}}
}

// MarshalJSON writes the fault with its type.
func (c Crash) MarshalJSON() ([]byte, error) {
	type plain Crash
	return typed("Crash", plain(c))
}
