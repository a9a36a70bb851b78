package link

import "fmt"

// FrozenWatch holds the events of watches, bookmarks included, while their connections stay open. They are delivered
// when it is healed.
type FrozenWatch struct {
	Match Match `json:"match,omitzero"`
}

var _ Fault = FrozenWatch{}

// Name is "FrozenWatch(watches)".
func (f FrozenWatch) Name() string { return fmt.Sprintf("FrozenWatch(%s)", f.Match) }

// Validate finds verbs, of which there is only one.
func (f FrozenWatch) Validate() error { return validWatch(f.Match, Turn{}) }

func (f FrozenWatch) start(dice) *effect {
	return &effect{
		match:   f.Match,
		watch:   func(a *active, s *stream) { s.freezes[a] = struct{}{} },
		unwatch: func(a *active, s *stream) { delete(s.freezes, a) },
	}
}

// MarshalJSON writes the fault with its type.
func (f FrozenWatch) MarshalJSON() ([]byte, error) {
	type plain FrozenWatch
	return typed("FrozenWatch", plain(f))
}
