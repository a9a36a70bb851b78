package requests

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Hold keeps requests until it is healed: before the server sees them, or on the way back. A client that is still there
// gets its answer then. Watches are always kept before the server sees them.
type Hold struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  Turn          `json:"turn,omitzero"`
	At    Moment        `json:"at,omitempty"`
}

var _ Fault = Hold{}

// Name is "Hold(requests)".
func (h Hold) Name() string { return fmt.Sprintf("Hold(%s)", h.Match) }

// Validate finds unknown verbs and moments.
func (h Hold) Validate() error { return valid(h.Match, h.Turn, h.At) }

// Turns says which of the selected requests are hit.
func (h Hold) Turns() Turn { return h.Turn }

// Start begins the fault on one link.
func (h Hold) Start() Effect {
	return Effect{Match: h.Match, Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
		a.at(h.At, x, next, func() bool {
			select {
			case <-a.Over:
				return true
			case <-x.R.Context().Done():
				return false
			}
		})
	}}
}

// MarshalJSON writes the fault with its type.
func (h Hold) MarshalJSON() ([]byte, error) {
	type plain Hold
	return faultjson.Marshal("Hold", plain(h))
}
