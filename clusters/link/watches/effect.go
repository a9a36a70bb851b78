// Package watches are the open watches of a link, and the faults that act on those: on their events, on their ends, and
// on the lists that they begin with. A watch is a request too: what all requests have in common is in package requests.
package watches

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
)

// Fault is a harm to watches of an API server.
type Fault interface {
	// Name is the fault as people write it, such as "FrozenWatch(shoots)".
	Name() string
	// Validate says what is wrong with the values of the fault.
	Validate() error
	// Start begins the fault on one link: what it does to requests, and what to watches.
	Start() (requests.Effect, Effect)
}

// Effect is what a fault does to the watches that it selects, as data.
type Effect struct {
	// Watch begins to act on a selected watch that is open, or opens; Unwatch ends what Watch has begun. Both are called
	// under the watch's own lock.
	Watch, Unwatch func(a *Active, s *Stream)
	// Prime prepares the fault, given the watches that are open at its injection.
	Prime func(a *Active, open []*Stream)
}

// Active is a fault at work on one link.
type Active struct {
	*requests.Active
	Effect
}

// valid finds what is wrong with a selection of lists or watches, which need no verb.
func valid(m kubeapi.Match, t requests.Turn) error {
	if len(m.Verbs) > 0 {
		return fmt.Errorf("verbs %s: must not be given, the fault has its own", strings.Join(m.Verbs, ","))
	}
	return errors.Join(m.Validate(), t.Validate())
}
