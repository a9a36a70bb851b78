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

// injectTimeout bounds what a request, or another trigger, has begun: an injection, or the end of a crash's victim.
const injectTimeout = 60 * time.Second

// Active keeps the faults at work and heals each exactly once, however the run ends.
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

// NewActive for the faults of one run.
func NewActive(w world.World, record timeline.Recorder) *Active {
	return &Active{world: w, record: record, open: map[string]*activeFault{}}
}

// Inject begins a fault under a name of the scenario.
func (a *Active) Inject(ctx context.Context, name string, f Fault) error {
	one := &activeFault{name: name, fault: f}
	if err := a.reserve(one); err != nil {
		return err
	}
	var err error
	one.begin.Do(func() { err = a.inject(ctx, one) })
	if err == nil {
		a.admit(one)
	}
	return err
}

// Await lets a fault begin when its trigger fires; it may do so before Await returns. The fault is healed like any
// other; one that has not begun by then never does.
func (a *Active) Await(ctx context.Context, name string, f Fault, when Trigger) error {
	one := &activeFault{name: name, fault: f}
	if err := a.reserve(one); err != nil {
		return err
	}
	a.note(one, timeline.FaultAwaited{Fault: f.Name(), When: when.String()})
	disarm, err := when.Arm(ctx, a.world, func(ctx context.Context) {
		one.begin.Do(func() { a.strike(ctx, one) })
	})
	if err != nil {
		return fmt.Errorf("wait with the fault %q, %s, for %s: %w", name, f.Name(), when, err)
	}
	one.disarm = disarm
	a.admit(one)
	return nil
}

// strike injects a fault whose trigger has fired. Nobody waits for the error, so the heal returns it.
func (a *Active) strike(ctx context.Context, one *activeFault) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), injectTimeout)
	defer cancel()
	one.err = a.inject(ctx, one)
}

// inject a fault. It stands in the record from before it does anything: what is measured from a fault on is measured
// from there. What was begun before an error is ended at once: nobody knows the fault by a name to heal.
func (a *Active) inject(ctx context.Context, one *activeFault) error {
	traits := one.fault.Traits()
	if traits.Awaits {
		if err := a.world.AwaitProcess(ctx, world.Process(*traits.Victim)); err != nil {
			return fmt.Errorf("inject the fault %q, %s: %w", one.name, one.fault.Name(), err)
		}
	}
	injected := timeline.FaultInjected{Fault: one.fault.Name()}
	if traits.Silences != "" {
		injected.Clusters, injected.Wiped = []string{traits.Silences}, traits.Harm.Wiped
	}
	a.note(one, injected)
	injection, err := world.Injection{}, a.world.Able(traits.Ability)
	if err == nil {
		injection, err = one.fault.Inject(ctx, a.world)
	}
	if err != nil {
		err = fmt.Errorf("inject the fault %q, %s: %w", one.name, one.fault.Name(), err)
		healed := timeline.FaultHealed{Fault: one.fault.Name()}
		if injection.Heal != nil {
			err = errors.Join(err, a.heal(ctx, one, injection))
			healed.Hits = injection.Hits()
		}
		healed.Error = err.Error()
		a.note(one, healed)
		return err
	}
	one.begun, one.injection = true, injection
	return nil
}

func (a *Active) note(one *activeFault, what timeline.Payload) {
	a.record.Record(timeline.Event{Actor: world.Operator, Subject: one.name, Payload: what})
}

// reserve a name; admit makes it one that can be healed.
func (a *Active) reserve(one *activeFault) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.open[one.name]; known {
		return fmt.Errorf("inject the fault %q: there is one of this name already", one.name)
	}
	a.open[one.name] = nil
	return nil
}

func (a *Active) admit(one *activeFault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[one.name] = one
	a.order = append(a.order, one.name)
}

// Heal ends the fault of this name. The second time it does nothing and returns what the first returned.
func (a *Active) Heal(ctx context.Context, name string) error {
	a.mu.Lock()
	one := a.open[name]
	a.mu.Unlock()
	if one == nil {
		return fmt.Errorf("heal the fault %q: it has not been injected", name)
	}
	one.heal.Do(func() { a.end(ctx, one) })
	one.healed.Store(true)
	return one.err
}

// end a fault. One whose trigger is just firing has begun when begin lets us through, and else never will.
func (a *Active) end(ctx context.Context, one *activeFault) {
	if one.disarm != nil {
		one.disarm()
	}
	one.begin.Do(func() {})
	if !one.begun {
		return
	}
	one.err = a.heal(ctx, one, one.injection)
	healed := timeline.FaultHealed{Fault: one.fault.Name(), Hits: one.injection.Hits()}
	if one.err != nil {
		healed.Error = one.err.Error()
	}
	a.note(one, healed)
}

// heal with a context that outlives the run.
func (a *Active) heal(ctx context.Context, one *activeFault, injection world.Injection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), world.HealTimeout)
	defer cancel()
	if err := injection.Heal(ctx); err != nil {
		return fmt.Errorf("heal the fault %q, %s: %w", one.name, one.fault.Name(), err)
	}
	return nil
}

// AtWork says whether a fault has begun, or waits for its moment, and is not healed.
func (a *Active) AtWork() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.open {
		if one != nil && !one.healed.Load() {
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
