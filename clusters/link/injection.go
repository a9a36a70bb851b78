package link

import (
	"sync"
	"sync/atomic"
)

// Injection is a fault at work, on one link or on all links of a proxy.
type Injection struct {
	fault   Fault
	touched atomic.Int64
	once    sync.Once
	healed  atomic.Bool
	undo    func()
}

// Fault is the fault that was injected.
func (i *Injection) Fault() Fault { return i.fault }

// Touched counts how often the fault was felt: bytes or connections held back, delayed or reset. It keeps its value
// after the heal.
func (i *Injection) Touched() int { return int(i.touched.Load()) }

// Healed says whether the fault has ended.
func (i *Injection) Healed() bool { return i.healed.Load() }

// Heal ends the fault. It returns when new connections are free of it, and does nothing the second time.
func (i *Injection) Heal() {
	i.once.Do(func() {
		i.undo()
		i.healed.Store(true)
	})
}

// active is an injection on one link.
type active struct {
	*effect
	injection *Injection
	traffic   *traffic
}

func (a *active) touch() {
	a.injection.touched.Add(1)
	a.traffic.touched.Add(1)
}

// plan is the set of faults that the connections of a link obey. It is replaced as a whole, never changed.
type plan struct {
	active     []*active
	superseded chan struct{} // closed when another plan is in force
}

func newPlan(active []*active) *plan { return &plan{active: active, superseded: make(chan struct{})} }

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
