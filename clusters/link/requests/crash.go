package requests

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Crash is the point at which an actor dies: before the server sees one of its writes, or after the server has carried
// it out and before the actor knows. The hook of the injection ends the actor; its connection is closed in any case.
// Writes of Leases and Events do not count, unless the resource is named.
type Crash struct {
	Match kubeapi.Match `json:"match,omitzero"`
	Turn  Turn          `json:"turn,omitzero"`
	At    Moment        `json:"at,omitempty"`
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

// Turns says which of the selected requests are hit.
func (c Crash) Turns() Turn { return c.Turn }

// Start begins the fault on one link.
func (c Crash) Start() Effect {
	return Effect{Match: c.Match, Writes: true, Intended: true, Answers: success,
		Serve: func(a *Active, x *Exchange, next func(*Exchange)) {
			a.at(c.At, x, next, func() bool { return false })
		}}
}

// MarshalJSON writes the fault with its type.
func (c Crash) MarshalJSON() ([]byte, error) {
	type plain Crash
	return faultjson.Marshal("Crash", plain(c))
}
