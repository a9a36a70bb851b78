package link

import "fmt"

// Tripwire harms nothing: its hook is called for requests, and holds them until it returns. Requests about Leases and
// Events do not count, unless the resource is named.
type Tripwire struct {
	Match Match  `json:"match,omitzero"`
	Turn  Turn   `json:"turn,omitzero"`
	At    Moment `json:"at,omitempty"`
}

var _ Fault = Tripwire{}

// Name is "Tripwire(requests)".
func (t Tripwire) Name() string { return fmt.Sprintf("Tripwire(%s)", t.Match) }

// Validate finds unknown verbs and moments.
func (t Tripwire) Validate() error { return valid(t.Match, t.Turn, t.At) }

func (t Tripwire) turn() Turn { return t.Turn }

func (t Tripwire) start(dice) *effect {
	return &effect{
		match: t.Match, intended: true, carriedOut: true,
		serve: func(a *active, x *exchange, next func(*exchange)) {
			a.at(t.At, x, next, func() bool { return true })
		},
	}
}

// MarshalJSON writes the fault with its type.
func (t Tripwire) MarshalJSON() ([]byte, error) {
	type plain Tripwire
	return typed("Tripwire", plain(t))
}
