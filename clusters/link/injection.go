package link

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// Injection is a fault at work, on one link or on all links of a proxy.
type Injection struct {
	fault  Fault
	hits   *requests.Hits // of all links where it is at work
	once   sync.Once
	healed atomic.Bool
	undo   func()
}

func newInjection(f Fault, hook requests.Hook) *Injection {
	if err := f.Validate(); err != nil {
		panic(fmt.Sprintf("inject %s: %v", f.Name(), err))
	}
	var turn requests.Turn
	if taken, ok := f.(turned); ok {
		turn = taken.Turns()
	}
	return &Injection{fault: f, hits: requests.NewHits(turn, hook)}
}

// turned is a fault that hits only some of the selected requests.
type turned interface{ Turns() requests.Turn }

// Fault is the fault that was injected.
func (i *Injection) Fault() Fault { return i.fault }

// Hits counts what the fault has hit: bytes or connections, requests or events of watches. It keeps its value once the
// end was awaited.
func (i *Injection) Hits() int { return i.hits.Count() }

// Healed says whether the fault has ended.
func (i *Injection) Healed() bool { return i.healed.Load() }

// Heal ends the fault. It returns when new connections are free of it, and does nothing the second time. A hook may
// still be under way then: see [Injection.Await].
func (i *Injection) Heal() {
	i.once.Do(func() {
		i.undo()
		i.hits.End()
		i.healed.Store(true)
	})
}

// Await waits, after the heal, until every request that the fault was just striking has been hit and its hook has
// returned. What a hook does is the harm of some faults, and nobody could undo it before it is done.
func (i *Injection) Await(ctx context.Context) error {
	select {
	case <-i.hits.Idle():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for what %s was doing when it was healed: %w", i.fault.Name(), context.Cause(ctx))
	}
}

// active is an injection on one link. Every part of it is there, whatever the fault acts on.
type active struct {
	injection *Injection
	wire      *wire.Active
	requests  *requests.Active
	watches   *watches.Active
}

// plan is the set of faults that a link obeys. It is replaced as a whole, never changed.
type plan struct {
	active   []*active
	wire     *wire.Plan // for connections
	requests []*requests.Active
	serves   bool // some act on requests
}

func newPlan(all []*active) *plan {
	p := &plan{active: all, wire: &wire.Plan{Superseded: make(chan struct{})}}
	for _, a := range all {
		p.wire.Active = append(p.wire.Active, a.wire)
		p.requests = append(p.requests, a.requests)
		p.serves = p.serves || a.requests.Serve != nil
	}
	return p
}

// find returns the first active fault that is of a kind, or nil.
func (p *plan) find(is func(*active) bool) *active {
	for _, a := range p.active {
		if is(a) {
			return a
		}
	}
	return nil
}

func refuses(a *active) bool { return a.wire.Refuses }
func resets(a *active) bool  { return a.wire.Resets }
func cuts(a *active) bool    { return a.wire.Cuts }
