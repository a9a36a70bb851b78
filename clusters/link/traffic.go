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
)

// errClosed is the end of everything that a closed link was asked for.
var errClosed = errors.New("the link is closed")

// traffic is the open connections of a link and the faults at work on them. One lock orders both, so that a connection
// either is there when a fault begins or ends, or finds it begun or ended.
type traffic struct {
	clock clock.Clock
	roll  dice
	// changed is called with every new plan, in order; nil when nobody asks.
	changed func(*plan)

	plan atomic.Pointer[plan]

	requests, toServer, toClient, connections, hits, errors atomic.Int64

	mu       sync.Mutex
	conns    map[*conn]struct{}
	streams  map[*stream]struct{} // the open watches
	closed   bool
	handlers sync.WaitGroup
}

func newTraffic(c clock.Clock, random *rand.Rand) *traffic {
	t := &traffic{clock: c, roll: lockedDice(random), conns: map[*conn]struct{}{}, streams: map[*stream]struct{}{}}
	t.plan.Store(newPlan(nil))
	return t
}

func lockedDice(random *rand.Rand) dice {
	var mu sync.Mutex
	return func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Int64N(n)
	}
}

// admit takes a client's socket into the link. It returns nil when the socket was closed instead, by a fault or because
// the link is closed.
func (t *traffic) admit(socket net.Conn) *conn {
	c := &conn{Conn: socket, source: socket, traffic: t, gone: make(chan struct{})}
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
		c.kill()
		return nil
	case reset != nil:
		reset.hit()
		t.errors.Add(1)
		c.reset()
		return nil
	}
	if cut := p.find(cuts); cut != nil {
		cut.hit()
	}
	return c
}

func (t *traffic) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
}

// begin lets a fault act, and returns how to end it.
func (t *traffic) begin(i *Injection) (end func()) {
	a := &active{effect: i.fault.start(t.roll), injection: i, traffic: t, over: make(chan struct{})}
	open := t.replace(func(all []*active) []*active { return append(slices.Clone(all), a) }, false)
	if a.resets {
		for _, c := range open {
			a.hit()
			t.errors.Add(1)
			c.reset()
		}
	}
	watches := t.open()
	if a.prime != nil {
		a.prime(a, watches)
	}
	for _, s := range watches {
		s.begin(a)
	}
	return func() { t.end(a) }
}

func (t *traffic) end(a *active) {
	close(a.over)
	open := t.replace(func(all []*active) []*active {
		return slices.DeleteFunc(slices.Clone(all), func(other *active) bool { return other == a })
	}, a.cuts)
	if a.cuts {
		t.errors.Add(int64(len(open)))
		for _, c := range open {
			c.kill()
		}
	}
	for _, s := range t.open() {
		s.end(a)
	}
}

// open lists the watches that are open.
func (t *traffic) open() []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.streams))
}

// replace puts a new plan in force and returns the connections that are open at that moment. Doomed ones must hold what
// they hold until they are killed: what a cut has swallowed stays lost.
func (t *traffic) replace(edit func([]*active) []*active, doom bool) []*conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if doom {
		for c := range t.conns {
			c.doomed.Store(true)
		}
	}
	old := t.plan.Load()
	p := newPlan(edit(old.active))
	t.plan.Store(p)
	close(old.superseded)
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
		c.kill()
	}
}
