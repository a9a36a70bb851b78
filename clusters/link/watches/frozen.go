package watches

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/faultjson"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// Frozen holds the events of watches, bookmarks included, while their connections stay open. They are delivered
// when it is healed.
type Frozen struct {
	Match kubeapi.Match `json:"match,omitzero"`
}

var _ Fault = Frozen{}

// Name is "FrozenWatch(watches)".
func (f Frozen) Name() string { return fmt.Sprintf("FrozenWatch(%s)", f.Match) }

// Validate finds verbs, of which there is only one.
func (f Frozen) Validate() error { return valid(f.Match, requests.Turn{}) }

// Start begins the fault on one link.
func (f Frozen) Start() (requests.Effect, Effect) {
	return requests.Effect{Match: f.Match}, Effect{
		Watch:   func(a *Active, s *Stream) { s.freezes[a] = struct{}{} },
		Unwatch: func(a *Active, s *Stream) { delete(s.freezes, a) },
	}
}

// MarshalJSON writes the fault with its type.
func (f Frozen) MarshalJSON() ([]byte, error) {
	type plain Frozen
	return faultjson.Marshal("FrozenWatch", plain(f))
}
