package link

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Fault is a harm that a link can do to the traffic on it. Some act on bytes, whatever they mean: [Cut], [Latency],
// [Bandwidth], [Reset]; some on requests to an API server: [Fail], [Abort], [Delay], [Hold], [DropAnswer], [Crash],
// [SizeLimit], [StaleList], [Tripwire]; some on its watches: [FrozenWatch], [CloseWatch], [GoneWatch].
//
// Faults are plain values: they can be stored and sent as JSON (see [Spec]); what is going on lives in the [Injection].
type Fault interface {
	// Name is the fault as people write it, such as "Cut(ToServer)".
	Name() string
	// Validate says what is wrong with the values of the fault.
	Validate() error

	start(dice) *effect
}

// Direction is the way that bytes take on a link. The zero value means both.
type Direction string

// The directions of a link.
const (
	Both     Direction = "Both"
	ToServer Direction = "ToServer"
	ToClient Direction = "ToClient"
)

func (d Direction) covers(other Direction) bool { return d == "" || d == Both || d == other }

func (d Direction) String() string {
	if d == "" {
		return string(Both)
	}
	return string(d)
}

func (d Direction) validate() error {
	switch d {
	case "", Both, ToServer, ToClient:
		return nil
	}
	return fmt.Errorf("unknown direction %q: must be %q, %q or %q", string(d), Both, ToServer, ToClient)
}

// forever is longer than any run.
const forever = time.Duration(math.MaxInt64)

// dice rolls a number in [0,n). It may be called by several goroutines.
type dice func(n int64) int64

// effect is a fault at work on one link: what it does, as data. Its release function is called under the wires' own
// order, possibly by several connections at once.
type effect struct {
	// direction of the bytes that release may hold back; release is nil for faults that hold back nothing.
	direction Direction
	release   func(transit) time.Time

	cuts    bool // connections that lived through it are dead after it
	refuses bool // new connections are refused
	resets  bool // open and new connections are reset

	// match selects the requests, or watches, of a fault that acts on those; with writes only such as may change what
	// the server stores.
	match  Match
	writes bool
	// intended leaves out Leases and Events, unless match names the resource.
	intended bool
	// carriedOut leaves out, where the moment is After, what the server has refused: it takes no turn.
	carriedOut bool
	// serve acts on a selected request; next brings it to the server and the answer back.
	serve func(a *active, x *exchange, next func(*exchange))
	// watch begins to act on a selected watch that is open, or opens; unwatch ends what watch has begun. Both are
	// called under the watch's own lock.
	watch, unwatch func(a *active, s *stream)
	// prime prepares the fault, given the watches that are open at its injection.
	prime func(a *active, open []*stream)
}

func (e *effect) holds(d Direction) bool { return e.release != nil && e.direction.covers(d) }

// transit describes bytes that wait for their release.
type transit struct {
	direction Direction
	bytes     int
	arrived   time.Time // on the link
	now       time.Time
}

// valid finds what is wrong with a selection of requests.
func valid(m Match, t Turn, at ...Moment) error {
	errs := []error{m.validate(), t.validate()}
	for _, moment := range at {
		errs = append(errs, moment.validate())
	}
	return errors.Join(errs...)
}

// validWatch finds what is wrong with a selection of lists or watches, which need no verb.
func validWatch(m Match, t Turn) error {
	if len(m.Verbs) > 0 {
		return fmt.Errorf("verbs %s: must not be given, the fault has its own", strings.Join(m.Verbs, ","))
	}
	return valid(m, t)
}
