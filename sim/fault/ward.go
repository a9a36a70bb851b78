package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// healTimeout bounds one heal, that of a lost cluster with many pods too. Heals run although the story was cancelled.
const healTimeout = 150 * time.Second

// Ward keeps the faults at work and heals each exactly once, whatever becomes of the story.
type Ward struct {
	world  world.World
	record timeline.Recorder

	mu    sync.Mutex
	open  map[string]*patient
	order []string
}

type patient struct {
	name      string
	fault     Fault
	injection world.Injection
	once      sync.Once
	err       error
}

// NewWard for the faults of one story.
func NewWard(w world.World, record timeline.Recorder) *Ward {
	return &Ward{world: w, record: record, open: map[string]*patient{}}
}

// Inject begins a fault under a name of the story.
func (w *Ward) Inject(ctx context.Context, name string, f Fault) error {
	w.mu.Lock()
	_, known := w.open[name]
	if !known {
		w.open[name] = nil
	}
	w.mu.Unlock()
	if known {
		return fmt.Errorf("inject the fault %q: there is one of this name already", name)
	}
	injection, err := f.Inject(ctx, w.world)
	if err != nil {
		return fmt.Errorf("inject the fault %q, %s: %w", name, f.Name(), err)
	}
	w.record.Record(timeline.Event{Actor: world.Operator, Subject: name, Payload: timeline.FaultInjected{Fault: f.Name()}})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[name] = &patient{name: name, fault: f, injection: injection}
	w.order = append(w.order, name)
	return nil
}

// Heal ends the fault of this name. The second time it does nothing and returns what the first returned.
func (w *Ward) Heal(ctx context.Context, name string) error {
	w.mu.Lock()
	p := w.open[name]
	w.mu.Unlock()
	if p == nil {
		return fmt.Errorf("heal the fault %q: it has not been injected", name)
	}
	p.once.Do(func() { p.err = w.heal(ctx, p) })
	return p.err
}

func (w *Ward) heal(ctx context.Context, p *patient) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTimeout)
	defer cancel()
	err := p.injection.Heal(ctx)
	healed := timeline.FaultHealed{Fault: p.fault.Name(), Touched: p.injection.Touched()}
	if err != nil {
		err = fmt.Errorf("heal the fault %q, %s: %w", p.name, p.fault.Name(), err)
		healed.Error = err.Error()
	}
	w.record.Record(timeline.Event{Actor: world.Operator, Subject: p.name, Payload: healed})
	return err
}

// HealAll ends every fault that is still at work, the last first.
func (w *Ward) HealAll(ctx context.Context) error {
	w.mu.Lock()
	names := w.order
	w.mu.Unlock()
	var errs []error
	for i := len(names) - 1; i >= 0; i-- {
		errs = append(errs, w.Heal(ctx, names[i]))
	}
	return errors.Join(errs...)
}
