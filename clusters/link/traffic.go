package link

import (
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// errClosed is the end of everything that a closed link was asked for.
var errClosed = errors.New("the link is closed")

// traffic is the open connections of a link and the faults at work on them. One lock orders both, so that a connection
// either is there when a fault begins or ends, or finds it begun or ended.
type traffic struct {
	shared *wire.Shared
	roll   wire.Dice
	// changed is called with every new plan, in order; nil when nobody asks.
	changed func(*plan)

	plan atomic.Pointer[plan]

	requests, connections, hits, errors atomic.Int64
	kinds                               tally

	mu       sync.Mutex
	conns    map[*wire.Conn]struct{}
	streams  map[*watches.Stream]struct{} // the open watches
	closed   bool
	handlers sync.WaitGroup
}

func newTraffic(c clock.Clock, random *rand.Rand) *traffic {
	t := &traffic{roll: lockedDice(random), conns: map[*wire.Conn]struct{}{}, streams: map[*watches.Stream]struct{}{}}
	t.shared = &wire.Shared{Clock: c, Plan: func() *wire.Plan { return t.plan.Load().wire }, Remove: t.remove}
	t.plan.Store(newPlan(nil))
	return t
}

func lockedDice(random *rand.Rand) wire.Dice {
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Int64N(n)
	}
}

// admit takes a client's socket into the link. It returns nil when the socket was closed instead, by a fault or because
// the link is closed.
func (t *traffic) admit(socket net.Conn) *wire.Conn {
	c := wire.NewConn(socket, t.shared)
	t.mu.Lock()
	p, closed := t.plan.Load(), t.closed
	reset := p.find(resets)
	if !closed && reset == nil {
		t.conns[c] = struct{}{}
	}
	t.mu.Unlock()
	t.connections.Add(1)
	switch {
	case closed:
		c.Kill()
		return nil
	case reset != nil:
		reset.wire.Hit()
		t.errors.Add(1)
		c.Reset()
		return nil
	}
	if cut := p.find(cuts); cut != nil {
		cut.wire.Hit()
	}
	return c
}

func (t *traffic) remove(c *wire.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
}

// begin lets a fault act, and returns how to end it.
func (t *traffic) begin(i *Injection) (end func()) {
	a := t.activate(i)
	open := t.replace(func(all []*active) []*active { return append(slices.Clone(all), a) }, false)
	if a.wire.Resets {
		for _, c := range open {
			a.wire.Hit()
			t.errors.Add(1)
			c.Reset()
		}
	}
	streams := t.open()
	if a.watches.Prime != nil {
		a.watches.Prime(a.watches, streams)
	}
	for _, s := range streams {
		s.Begin(a.watches)
	}
	return func() { t.end(a) }
}

// activate starts a fault, without letting it act yet.
func (t *traffic) activate(i *Injection) *active {
	e := start(i.fault, t.roll)
	ofRequests := &requests.Active{Effect: e.requests, Injection: i.hits, Hits: &t.hits, Errors: &t.errors,
		Clock: t.shared.Clock, Over: make(chan struct{})}
	return &active{
		injection: i,
		wire:      &wire.Active{Effect: e.wire, Hit: ofRequests.Hit},
		requests:  ofRequests,
		watches:   &watches.Active{Active: ofRequests, Effect: e.watches},
	}
}

func (t *traffic) end(a *active) {
	close(a.requests.Over)
	open := t.replace(func(all []*active) []*active {
		return slices.DeleteFunc(slices.Clone(all), func(other *active) bool { return other == a })
	}, a.wire.Cuts)
	if a.wire.Cuts {
		t.errors.Add(int64(len(open)))
		for _, c := range open {
			c.Kill()
		}
	}
	for _, s := range t.open() {
		s.End(a.watches)
	}
}

// open lists the watches that are open.
func (t *traffic) open() []*watches.Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.streams))
}

// join lets the faults act on a watch that opens.
func (t *traffic) join(s *watches.Stream) {
	t.mu.Lock()
	t.streams[s] = struct{}{}
	p := t.plan.Load()
	t.mu.Unlock()
	for _, a := range p.active {
		s.Begin(a.watches)
	}
}

func (t *traffic) part(s *watches.Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, s)
}

// replace puts a new plan in force and returns the connections that are open at that moment. Doomed ones must hold what
// they hold until they are killed: what a cut has swallowed stays lost.
func (t *traffic) replace(edit func([]*active) []*active, doom bool) []*wire.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if doom {
		for c := range t.conns {
			c.Doom()
		}
	}
	old := t.plan.Load()
	p := newPlan(edit(old.active))
	t.plan.Store(p)
	close(old.wire.Superseded)
	if t.changed != nil && !t.closed {
		t.changed(p)
	}
	return slices.Collect(maps.Keys(t.conns))
}

// enter counts a request in; every entered request must leave.
func (t *traffic) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	t.handlers.Add(1)
	t.requests.Add(1)
	return nil
}

func (t *traffic) leave() { t.handlers.Done() }

// close closes all connections and admits no more.
func (t *traffic) close() {
	t.mu.Lock()
	t.closed = true
	open := slices.Collect(maps.Keys(t.conns))
	t.mu.Unlock()
	for _, c := range open {
		c.Kill()
	}
}
