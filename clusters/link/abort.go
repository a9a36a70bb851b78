package link

import "fmt"

// Abort closes the client's connection instead of carrying requests out, or instead of answering them. Unlike
// [DropAnswer] it strikes reads too.
type Abort struct {
	Match Match  `json:"match,omitzero"`
	Turn  Turn   `json:"turn,omitzero"`
	At    Moment `json:"at,omitempty"`
}

var _ Fault = Abort{}

// Name is "Abort(requests)".
func (a Abort) Name() string { return fmt.Sprintf("Abort(%s)", a.Match) }

// Validate finds unknown verbs and moments.
func (a Abort) Validate() error { return valid(a.Match, a.Turn, a.At) }

func (a Abort) turn() Turn { return a.Turn }

func (a Abort) start(dice) *effect {
	return &effect{match: a.Match, serve: func(fault *active, x *exchange, next func(*exchange)) {
		fault.at(a.At, x, next, func() bool { return false })
	}}
}

// MarshalJSON writes the fault with its type.
func (a Abort) MarshalJSON() ([]byte, error) {
	type plain Abort
	return typed("Abort", plain(a))
}
