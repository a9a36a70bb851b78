package wire

import (
	"slices"
	"sync/atomic"
	"time"
)

// Fault is a harm to bytes, whatever they mean.
type Fault interface {
	// Name is the fault as people write it, such as "Cut(ToServer)".
	Name() string
	// Validate says what is wrong with the values of the fault.
	Validate() error
	// Start begins the fault on one link.
	Start(Dice) Effect
}

// Dice rolls a number in [0,n). It may be called by several goroutines.
type Dice func(n int64) int64

// Effect is what a fault does to the bytes of a link, as data. Its functions are called under the wires' own
// order, possibly by several connections at once.
type Effect struct {
	// Direction of the bytes concerned. Release may hold them back; it is nil for faults that have none.
	Direction Direction
	Release   func(Transit) time.Time
	// Pace is the Release of faults for which it matters how many bytes are sent, copies included; nil for others.
	Pace func(t Transit, copies int) Paced
	// Copies is how many bytes more are sent for so many; nil for faults that send none. They hit something where bytes
	// have to wait for them.
	Copies func(bytes int) int

	Cuts    bool // connections that lived through it are dead after it
	Refuses bool // new connections are refused
	Resets  bool // open and new connections are reset
}

func (e *Effect) holds(d Direction) bool {
	return (e.Release != nil || e.Pace != nil || e.Copies != nil) && e.Direction.covers(d)
}

// Transit describes bytes that wait for their release.
type Transit struct {
	Direction Direction
	Bytes     int       // without copies; 0 for the end of the stream
	Arrived   time.Time // on the link
	Now       time.Time
}

// Paced is the release of bytes by a fault for which it matters how many are sent.
type Paced struct {
	At time.Time
	// Hits says that the fault makes these bytes late, CopiesHit that they were not if nothing were sent twice.
	Hits, CopiesHit bool
}

// Active is a fault at work on one link.
type Active struct {
	Effect
	// Hit counts what the fault has hit.
	Hit func()

	copied atomic.Bool // something since the last hit by copies
}

// Plan is the set of faults that the connections of a link obey. It is replaced as a whole, never changed.
type Plan struct {
	Active []*Active
	// Superseded is closed when another plan is in force.
	Superseded chan struct{}
}

func (p *Plan) holds(d Direction) bool {
	return slices.ContainsFunc(p.Active, func(a *Active) bool { return a.holds(d) })
}
