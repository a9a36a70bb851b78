package link

import "fmt"

// Hold keeps requests until it is healed: before the server sees them, or on the way back. A client that is still there
// gets its answer then. Watches are always kept before the server sees them.
type Hold struct {
	Match Match  `json:"match,omitzero"`
	Turn  Turn   `json:"turn,omitzero"`
	At    Moment `json:"at,omitempty"`
}

var _ Fault = Hold{}

// Name is "Hold(requests)".
func (h Hold) Name() string { return fmt.Sprintf("Hold(%s)", h.Match) }

// Validate finds unknown verbs and moments.
func (h Hold) Validate() error { return valid(h.Match, h.Turn, h.At) }

func (h Hold) turn() Turn { return h.Turn }

func (h Hold) start(dice) *effect {
	return &effect{match: h.Match, serve: func(a *active, x *exchange, next func(*exchange)) {
		a.at(h.At, x, next, func() bool {
			select {
			case <-a.over:
				return true
			case <-x.r.Context().Done():
				return false
			}
		})
	}}
}

// MarshalJSON writes the fault with its type.
func (h Hold) MarshalJSON() ([]byte, error) {
	type plain Hold
	return typed("Hold", plain(h))
}
