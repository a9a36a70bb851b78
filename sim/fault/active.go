package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// healTimeout bounds one heal, and is longer than any backend waits for a cluster that returns with its disk, which
	// says better what was missing. Heals run although the story was cancelled.
	healTimeout = 6 * time.Minute
	// injectTimeout bounds what a request, or another trigger, has begun: an injection, or the end of a crash's victim.
	injectTimeout = 60 * time.Second
)

// Active keeps the faults at work and heals each exactly once, whatever becomes of the story.
type Active struct {
	world  world.World
	record timeline.Recorder

	mu    sync.Mutex
	open  map[string]*activeFault
	order []string
}

type activeFault struct {
	name   string
	fault  Fault
	disarm func() // nil for a fault that waits for nothing
	begin  sync.Once
	heal   sync.Once
	healed atomic.Bool
	err    error

	begun     bool // written in begin
	injection world.Injection
}

// NewActive for the faults of one story.
func NewActive(w world.World, record timeline.Recorder) *Active {
	return &Active{world: w, record: record, open: map[string]*activeFault{}}
}

// Inject begins a fault under a name of the story.
func (a *Active) Inject(ctx context.Context, name string, f Fault) error {
	p := &activeFault{name: name, fault: f}
	if err := a.reserve(p); err != nil {
		return err
	}
	var err error
	p.begin.Do(func() { err = a.inject(ctx, p) })
	if err == nil {
		a.admit(p)
	}
	return err
}

// Await lets a fault begin when its trigger fires; it may do so before Await returns. The fault is healed like any
// other; one that has not begun by then never does.
func (a *Active) Await(ctx context.Context, name string, f Fault, when Trigger) error {
	p := &activeFault{name: name, fault: f}
	if err := a.reserve(p); err != nil {
		return err
	}
	a.note(p, timeline.FaultAwaited{Fault: f.Name(), When: when.String()})
	disarm, err := when.Arm(ctx, a.world, func(ctx context.Context) {
		p.begin.Do(func() { a.strike(ctx, p) })
	})
	if err != nil {
		return fmt.Errorf("wait with the fault %q, %s, for %s: %w", name, f.Name(), when, err)
	}
	p.disarm = disarm
	a.admit(p)
	return nil
}

// strike injects a fault whose trigger has fired. Nobody waits for the error, so the heal tells it.
func (a *Active) strike(ctx context.Context, p *activeFault) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectTimeout)
	defer cancel()
	p.err = a.inject(ctx, p)
}

// awaiter is a fault that needs something there before it begins.
type awaiter interface {
	await(ctx context.Context, w world.World) error
}

// taker is a fault that takes whole clusters away.
type taker interface{ takes() []string }

var (
	_ taker = &LoseCluster{}
	_ taker = &FreezeCluster{}
	_ taker = &Freeze{}
)

// inject a fault. It stands in the record from before it does anything: what is measured from a fault on is measured
// from there. What was begun before an error is ended at once: nobody knows the fault by a name to heal.
func (a *Active) inject(ctx context.Context, p *activeFault) error {
	if waits, is := p.fault.(awaiter); is {
		if err := waits.await(ctx, a.world); err != nil {
			return fmt.Errorf("inject the fault %q, %s: %w", p.name, p.fault.Name(), err)
		}
	}
	injected := timeline.FaultInjected{Fault: p.fault.Name()}
	if takes, is := p.fault.(taker); is {
		injected.Clusters = takes.takes()
	}
	a.note(p, injected)
	injection, err := p.fault.Inject(ctx, a.world)
	if err != nil {
		err = fmt.Errorf("inject the fault %q, %s: %w", p.name, p.fault.Name(), err)
		healed := timeline.FaultHealed{Fault: p.fault.Name()}
		if injection.Heal != nil {
			err = errors.Join(err, a.heal(ctx, p, injection))
			healed.Hits = injection.Hits()
		}
		healed.Error = err.Error()
		a.note(p, healed)
		return err
	}
	p.begun, p.injection = true, injection
	return nil
}

func (a *Active) note(p *activeFault, what timeline.Payload) {
	a.record.Record(timeline.Event{Actor: world.Operator, Subject: p.name, Payload: what})
}

// reserve a name; admit makes it one that can be healed.
func (a *Active) reserve(p *activeFault) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.open[p.name]; known {
		return fmt.Errorf("inject the fault %q: there is one of this name already", p.name)
	}
	a.open[p.name] = nil
	return nil
}

func (a *Active) admit(p *activeFault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[p.name] = p
	a.order = append(a.order, p.name)
}

// Heal ends the fault of this name. The second time it does nothing and returns what the first returned.
func (a *Active) Heal(ctx context.Context, name string) error {
	a.mu.Lock()
	p := a.open[name]
	a.mu.Unlock()
	if p == nil {
		return fmt.Errorf("heal the fault %q: it has not been injected", name)
	}
	p.heal.Do(func() { a.end(ctx, p) })
	p.healed.Store(true)
	return p.err
}

// end a fault. One whose trigger is just firing has begun when begin lets us through, and else never will.
func (a *Active) end(ctx context.Context, p *activeFault) {
	if p.disarm != nil {
		p.disarm()
	}
	p.begin.Do(func() {})
	if !p.begun {
		return
	}
	p.err = a.heal(ctx, p, p.injection)
	healed := timeline.FaultHealed{Fault: p.fault.Name(), Hits: p.injection.Hits()}
	if p.err != nil {
		healed.Error = p.err.Error()
	}
	a.note(p, healed)
}

// heal with a context that outlives the story.
func (a *Active) heal(ctx context.Context, p *activeFault, injection world.Injection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
	defer cancel()
	if err := injection.Heal(ctx); err != nil {
		return fmt.Errorf("heal the fault %q, %s: %w", p.name, p.fault.Name(), err)
	}
	return nil
}

// AtWork says whether a fault has begun, or waits for its moment, and is not healed.
func (a *Active) AtWork() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.open {
		if p != nil && !p.healed.Load() {
			return true
		}
	}
	return false
}

// HealAll ends every fault that is still at work, the last first.
func (a *Active) HealAll(ctx context.Context) error {
	a.mu.Lock()
	names := a.order
	a.mu.Unlock()
	var errs []error
	for i := len(names) - 1; i >= 0; i-- {
		errs = append(errs, a.Heal(ctx, names[i]))
	}
	return errors.Join(errs...)
}
