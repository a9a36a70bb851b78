package requests

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Tripwire harms nothing: its hook is called for requests, and holds them until it returns. Requests about Leases and
// Events do not count, unless the resource is named.
type Tripwire struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  Turn          `json:"turn,omitzero"`
	At    Moment        `json:"at,omitempty"`
}

var _ Fault = Tripwire{}

// Name is "Tripwire(requests)".
func (t Tripwire) Name() string { return fmt.Sprintf("Tripwire(%s)", t.Match) }

// Validate finds unknown verbs and moments.
func (t Tripwire) Validate() error { return valid(t.Match, t.Turn, t.At) }

// Turns says which of the selected requests are hit.
func (t Tripwire) Turns() Turn { return t.Turn }

// Start begins the fault on one link.
func (t Tripwire) Start() Effect {
	return Effect{
		Match: t.Match, Intended: true, Answers: success,
		Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
			a.at(t.At, x, next, func() bool { return true })
		},
	}
}

// MarshalJSON writes the fault with its type.
func (t Tripwire) MarshalJSON() ([]byte, error) {
	type plain Tripwire
	return faultjson.Marshal("Tripwire", plain(t))
}
