package link

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Injection is a fault at work, on one link or on all links of a proxy.
type Injection struct {
	fault   Fault
	hook    Hook
	turns   turns // of all links where it is at work
	strikes strikes
	hits    atomic.Int64
	once    sync.Once
	healed  atomic.Bool
	undo    func()
}

// Hook is called for a request that a fault hits, at that moment. The request waits until the hook returns;
// its context ends with the client. A hook may heal its fault, and must not await the end of it.
type Hook func(context.Context, Request)

func newInjection(f Fault, hook Hook) *Injection {
	if err := f.Validate(); err != nil {
		panic(fmt.Sprintf("inject %s: %v", f.Name(), err))
	}
	i := &Injection{fault: f, hook: hook, strikes: newStrikes()}
	if taken, ok := f.(turned); ok {
		i.turns.Turn = taken.turn()
	}
	return i
}

// turned is a fault that hits only some of the selected requests.
type turned interface{ turn() Turn }

// Fault is the fault that was injected.
func (i *Injection) Fault() Fault { return i.fault }

// Hits counts what the fault has hit: bytes or connections, requests or events of watches. It keeps its value once the
// end was awaited.
func (i *Injection) Hits() int { return int(i.hits.Load()) }

// Healed says whether the fault has ended.
func (i *Injection) Healed() bool { return i.healed.Load() }

// Heal ends the fault. It returns when new connections are free of it, and does nothing the second time. A hook may
// still be under way then: see [Injection.Await].
func (i *Injection) Heal() {
	i.once.Do(func() {
		i.undo()
		i.strikes.close()
		i.healed.Store(true)
	})
}

// Await waits, after the heal, until every request that the fault was just striking has been hit and its hook has
// returned. What a hook does is the harm of some faults, and nobody could undo it before it is done.
func (i *Injection) Await(ctx context.Context) error {
	select {
	case <-i.strikes.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for what %s was doing when it was healed: %w", i.fault.Name(), context.Cause(ctx))
	}
}

// active is an injection on one link.
type active struct {
	*effect
	injection *Injection
	traffic   *traffic
	over      chan struct{} // closed when it has ended here
}

func (a *active) hit() {
	a.injection.hits.Add(1)
	a.traffic.hits.Add(1)
}

// plan is the set of faults that the connections of a link obey. It is replaced as a whole, never changed.
type plan struct {
	active     []*active
	serves     bool          // some act on requests
	superseded chan struct{} // closed when another plan is in force
}

func newPlan(all []*active) *plan {
	serves := slices.ContainsFunc(all, func(a *active) bool { return a.serve != nil })
	return &plan{active: all, serves: serves, superseded: make(chan struct{})}
}

func (p *plan) holds(d Direction) bool {
	for _, a := range p.active {
		if a.holds(d) {
			return true
		}
	}
	return false
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

func refuses(a *active) bool { return a.refuses }
func resets(a *active) bool  { return a.resets }
func cuts(a *active) bool    { return a.cuts }
