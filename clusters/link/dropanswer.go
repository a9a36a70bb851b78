package link

import (
	"fmt"
	"slices"
)

// DropAnswer lets the server carry requests out and then closes the client's connection instead of answering: the
// client does not know what has become of them. When no verb is given it strikes writes only. Answers that refuse are
// not lost.
type DropAnswer struct {
	Match Match `json:"match,omitzero"`
	Turn  Turn  `json:"turn,omitzero"`
}

var _ Fault = DropAnswer{}

// Name is "DropAnswer(requests)".
func (d DropAnswer) Name() string { return fmt.Sprintf("DropAnswer(%s)", d.Match) }

// Validate finds unknown verbs, and watches, which have no answer to lose.
func (d DropAnswer) Validate() error {
	if slices.Contains(d.Match.Verbs, VerbWatch) {
		return fmt.Errorf("verb %q: has no answer that could be lost; take a fault of watches", VerbWatch)
	}
	return valid(d.Match, d.Turn)
}

func (d DropAnswer) turn() Turn { return d.Turn }

func (d DropAnswer) start(dice) *effect {
	return &effect{match: d.Match, writes: len(d.Match.Verbs) == 0, intended: len(d.Match.Verbs) == 0,
		carriedOut: true,
		serve: func(a *active, x *exchange, next func(*exchange)) {
			if x.endless() { // there is no answer to lose
				next(x)
				return
			}
			a.at(After, x, next, func() bool { return false })
		}}
}

// MarshalJSON writes the fault with its type.
func (d DropAnswer) MarshalJSON() ([]byte, error) {
	type plain DropAnswer
	return typed("DropAnswer", plain(d))
}
