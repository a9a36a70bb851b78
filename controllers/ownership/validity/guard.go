package validity

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// State of a Guard.
type State string

const (
	// Starting: this epoch has not been started with this data yet; both authorities must name it
	// (docs/ownership.md#o1).
	Starting State = "Starting"
	// Serving: valid, requests and answers pass.
	Serving State = "Serving"
	// Suspended: lapsed without being fenced; nothing passes until DNS names it again (docs/ownership.md#o4).
	Suspended State = "Suspended"
	// Fenced for good: this epoch is never served again (docs/ownership.md#o3).
	Fenced State = "Fenced"
)

// ErrFenced refuses what a fenced guard is asked for.
var ErrFenced = errors.New("the guard is fenced: its epoch is over")

// ErrNotServing refuses a planned fence by a guard that is not valid: a lapsed guard never ends its epoch by itself
// (docs/ownership.md#o4).
var ErrNotServing = errors.New("the guard is not valid, only the valid owner may end its epoch")

// Memory is what a guard keeps beside the data directory.
type Memory struct {
	Owner string `json:"owner"`
	Epoch int64  `json:"epoch"`
	// Served is true if this epoch has been started: answers may have been given.
	Served bool `json:"served"`
	// BootID and Until are the last validity; a guard that restarts within the same boot goes on with it
	// (docs/ownership.md#lapsed).
	BootID string            `json:"bootID"`
	Until  ownership.Instant `json:"until"`
	// Fence is set once and never taken back.
	Fence *Fence `json:"fence,omitempty"`
}

// Fence says why an epoch is over and how far its end has come (docs/ownership.md#o3).
type Fence struct {
	// By is the record in DNS that fenced; absent if the owner decided itself (docs/ownership.md#o11).
	By ownership.Record `json:"by"`
	// Revoked: no holder has validity any more, step (3).
	Revoked bool `json:"revoked"`
	// Finished: step (4) is done, or there was nothing to do. Step (5) comes with the end of the pod (docs/deviations.md).
	Finished bool `json:"finished"`
}

// GuardOptions of NewGuard.
type GuardOptions struct {
	// Self is the owner and epoch this guard stands for: configuration, never learnt from a read
	// (docs/ownership.md#o1).
	Self   ownership.Record
	Timing ownership.Timing
	Clock  ownership.Clock
	// Memory is what an earlier guard of the same data directory and epoch has left, else zero.
	Memory Memory
	// Remember writes the memory durably. It is called before the state it describes takes effect, except that a
	// fence takes effect at once.
	Remember func(Memory) error
}

// Guard holds the validity of one epoch, by the rules of docs/ownership.md#spec-9-2. It reads nothing itself: see
// Follow.
type Guard struct {
	self     ownership.Record
	timing   ownership.Timing
	clock    ownership.Clock
	remember func(Memory) error

	began ownership.Instant // when this process began

	mu          sync.Mutex
	memory      Memory
	term        *Term
	byDecision  ownership.Instant // validity that DNS alone would give: who may heal the claim (docs/ownership.md#o3)
	claimed     ownership.Instant // when a garden read that names us was answered, while Starting
	claimIsSeen bool
	seen        map[ownership.Source]Observation
	grants      grants
	changed     chan struct{}
}

// Observation is the outcome of one read of an authority.
type Observation struct {
	// Started is when the read was sent; validity counts from there (docs/ownership.md#o1).
	Started ownership.Instant
	Record  ownership.Record
	Err     error
}

// NewGuard returns a guard that resumes what the memory says, and is Starting without one.
func NewGuard(o GuardOptions) (*Guard, error) {
	if o.Self.Owner == "" || o.Self.Epoch < 1 {
		return nil, fmt.Errorf("set up the guard: owner %q and epoch %d must be given", o.Self.Owner, o.Self.Epoch)
	}
	if err := o.Timing.Validate(); err != nil {
		return nil, err
	}
	g := &Guard{
		self: o.Self, timing: o.Timing, clock: o.Clock, remember: o.Remember, memory: o.Memory,
		seen: map[ownership.Source]Observation{}, changed: make(chan struct{}),
	}
	if !o.Self.Names(o.Memory.Owner, o.Memory.Epoch) {
		g.memory = Memory{Owner: o.Self.Owner, Epoch: o.Self.Epoch}
	}
	g.term = LapsedTerm(o.Clock, o.Self.Epoch)
	now := o.Clock.Now()
	g.began = now
	// What an earlier guard has granted before this restart is known only by its bound.
	g.grants.restarted(now.Add(ownership.WithDrift(o.Timing.Timeout)), now, g.memory.Served)
	if m := g.memory; m.Fence == nil && m.Served && m.BootID == o.Clock.BootID() && m.Until.Sub(now) > 0 &&
		m.Until.Sub(now) <= o.Timing.Timeout {
		g.term = NewTerm(o.Clock, o.Self.Epoch, m.Until)
	}
	return g, nil
}

// Self is the owner and epoch the guard stands for.
func (g *Guard) Self() ownership.Record { return g.self }

// Term is the present stretch of validity, possibly over. It is not replaced while it runs.
func (g *Guard) Term() *Term {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term
}

// State of the guard now.
func (g *Guard) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stateLocked()
}

func (g *Guard) stateLocked() State {
	switch {
	case g.memory.Fence != nil:
		return Fenced
	case g.term.Valid():
		return Serving
	case g.memory.Served:
		return Suspended
	default:
		return Starting
	}
}

// Memory is what the guard remembers now.
func (g *Guard) Memory() Memory {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.memoryLocked()
}

func (g *Guard) memoryLocked() Memory {
	m := g.memory
	if m.Fence != nil {
		fence := *m.Fence
		m.Fence = &fence
	}
	return m
}

// Seen is the last observation of an authority; ok is false before the first.
func (g *Guard) Seen(source ownership.Source) (o Observation, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o, ok = g.seen[source]
	return o, ok
}

// Changed is closed at the next change of state that Observe, Fence or a step of the fence makes. Term().Done()
// shows a lapse.
func (g *Guard) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Guard) notifyLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Remaining validity, never negative.
func (g *Guard) Remaining() time.Duration { return g.Term().Remaining() }
