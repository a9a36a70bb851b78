package requests

import (
	"fmt"
	"slices"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// DropAnswer lets the server carry requests out and then closes the client's connection instead of answering: the
// client does not know what has become of them. When no verb is given it strikes writes only. Answers that refuse are
// not lost.
type DropAnswer struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  Turn          `json:"turn,omitzero"`
}

var _ Fault = DropAnswer{}

// Name is "DropAnswer(requests)".
func (d DropAnswer) Name() string { return fmt.Sprintf("DropAnswer(%s)", d.Match) }

// Validate finds unknown verbs, and watches, which have no answer to lose.
func (d DropAnswer) Validate() error {
	if slices.Contains(d.Match.Verbs, kubeapi.VerbWatch) {
		return fmt.Errorf("verb %q: has no answer that could be lost; take a fault of watches", kubeapi.VerbWatch)
	}
	return valid(d.Match, d.Turn)
}

// Turns says which of the selected requests are hit.
func (d DropAnswer) Turns() Turn { return d.Turn }

// Start begins the fault on one link.
func (d DropAnswer) Start() Effect {
	return Effect{Match: d.Match, Writes: len(d.Match.Verbs) == 0, Intended: len(d.Match.Verbs) == 0,
		Answers: success,
		Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
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
	return faultjson.Marshal("DropAnswer", plain(d))
}
