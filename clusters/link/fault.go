package link

import (
	"fmt"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// Fault is a harm that a link can do to the traffic on it. Some act on bytes, whatever they mean: [wire.Cut],
// [wire.Latency], [wire.Loss], [wire.Duplicate], [wire.Bandwidth], [wire.Reset]; some on requests to an API server:
// [requests.Fail], [requests.Abort], [requests.Delay], [requests.Hold], [requests.DropAnswer], [requests.Crash],
// [requests.SizeLimit], [requests.Rewrite], [requests.Tripwire]; some on its watches, and on the lists that these begin
// with: [watches.Frozen], [watches.Closed], [watches.Gone], [watches.StaleList]. Links know no others.
//
// Faults are plain values: they can be stored and sent as JSON (see [Spec]); what is going on lives in the [Injection].
type Fault interface {
	// Name is the fault as people write it, such as "Cut(ToServer)".
	Name() string
	// Validate says what is wrong with the values of the fault.
	Validate() error
}

// effect is a fault at work on one link: what it does to bytes, to requests and to watches.
type effect struct {
	wire     wire.Effect
	requests requests.Effect
	watches  watches.Effect
}

// start begins a fault on one link. It panics for what is no fault of links.
func start(f Fault, roll wire.Dice) (e effect) {
	switch f := f.(type) {
	case wire.Fault:
		e.wire = f.Start(roll)
	case requests.Fault:
		e.requests = f.Start()
	case watches.Fault:
		e.requests, e.watches = f.Start()
	default:
		panic(fmt.Sprintf("inject %s: it acts on nothing that a link carries", f.Name()))
	}
	return e
}
