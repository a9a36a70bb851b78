package requests

import (
	"errors"
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Abort closes the client's connection instead of carrying requests out, or instead of answering them. Unlike
// [DropAnswer] it strikes reads too.
type Abort struct {
	Match   kubeapi.Match `json:"match,omitzero"`
	Answers Answers       `json:"answers,omitzero"`
	Turn    Turn          `json:"turn,omitzero"`
	At      Moment        `json:"at,omitempty"`
}

var _ Fault = Abort{}

// Name is "Abort(requests)".
func (a Abort) Name() string { return fmt.Sprintf("Abort(%s)", a.Match) }

// Validate finds unknown verbs and moments.
func (a Abort) Validate() error {
	return errors.Join(valid(a.Match, a.Turn, a.At), a.Answers.validate(a.At))
}

// Turns says which of the selected requests are hit.
func (a Abort) Turns() Turn { return a.Turn }

// Start begins the fault on one link.
func (a Abort) Start() Effect {
	return a.Answers.selected(Effect{Match: a.Match, Serve: func(fault *Active, x *Exchange, next func(*Exchange)) {
		fault.at(a.At, x, next, func() bool { return false })
	}})
}

// MarshalJSON writes the fault with its type.
func (a Abort) MarshalJSON() ([]byte, error) {
	type plain Abort
	return faultjson.Marshal("Abort", plain(a))
}
