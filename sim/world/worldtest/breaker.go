package worldtest

import (
	"context"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/world"
)

// BreakLink implements world.LinkBreaker: the fault is felt once, and only counted.
func (w *World) BreakLink(context.Context, string, string, link.Fault) (world.Injection, error) {
	return w.injection(1), nil
}

// BreakProcess implements world.ProcessBreaker: a frozen process is felt by nobody here.
func (w *World) BreakProcess(_ context.Context, _ world.Process, harm world.Harm) (world.Injection, error) {
	if harm == world.Freeze {
		return w.injection(0), nil
	}
	return w.injection(1), nil
}

func (w *World) injection(touched int) world.Injection {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults++
	return world.Injection{
		Heal: func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.healed++
			return nil
		},
		Touched: func() int { return touched },
	}
}

// Faults are how many faults were injected, and how many heals were called.
func (w *World) Faults() (injected, healed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults, w.healed
}
