package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Trigger decides when a fault begins.
type Trigger interface {
	// String says what it waits for, for people.
	String() string
	// Arm begins to wait, and calls fire at the moment; more than one call does no harm. It returns when nothing can
	// happen any more that it would miss. Disarm ends the waiting; fire may be under way then.
	Arm(ctx context.Context, w world.World, fire func(context.Context)) (disarm func(), err error)
}

// OnRequest is an API event: a request of an actor to an API server, the first that fits, unless nth, from or every say
// otherwise. The request waits until the fault has begun. Requests about Leases and Events do not count, unless the
// kind is given.
type OnRequest struct {
	Requests `json:",inline"`
	// At says whether the fault begins before the API server sees the request (Before, when not given), or when it was
	// carried out and the actor does not know yet (After). Refused requests do not count then.
	At requests.Moment `json:"at,omitempty"`
}

var _ Trigger = &OnRequest{}

func (o *OnRequest) wire() link.Fault {
	return requests.Tripwire{Match: o.match(), Turn: once(o.Turn), At: o.At}
}

func (o *OnRequest) String() string {
	moment, which := "before", "a request"
	if o.At == requests.After {
		moment = "after"
	}
	switch {
	case o.Nth > 0:
		which = fmt.Sprintf("request number %d", o.Nth)
	case o.From > 0:
		which = fmt.Sprintf("request number %d or later", o.From)
	}
	text := fmt.Sprintf("the moment %s %s of %s to %s", moment, which, o.Actor, o.Target)
	if what := o.match().String(); what != "" {
		text += ": " + what
	}
	return text
}

// Check finds unknown links, verbs and moments.
func (o *OnRequest) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return o.check(path, on, o.wire())
}

// Arm lays a tripwire on the link.
func (o *OnRequest) Arm(ctx context.Context, w world.World, fire func(context.Context)) (disarm func(), err error) {
	wire, err := o.inject(ctx, w, o.wire(), func(ctx context.Context, _ kubeapi.Request) { fire(ctx) })
	if err != nil {
		return nil, err
	}
	return func() { _ = wire.Heal(context.WithoutCancel(ctx)) }, nil // a wire harms nobody who is left with it
}
