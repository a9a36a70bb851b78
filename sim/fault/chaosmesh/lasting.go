package chaosmesh

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/world"
)

// lasting ends an injection by itself after a time, if it is not healed before.
func lasting(ctx context.Context, i world.Injection, life time.Duration) world.Injection {
	var once sync.Once
	var err error
	heal := func(ctx context.Context) error {
		once.Do(func() { err = i.Heal(ctx) })
		return err
	}
	timer := clock.RealClock{}.AfterFunc(life, func() { // the time of Chaos Mesh is real time
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), world.HealTimeout)
		defer cancel()
		_ = heal(ctx) // the heal that is always called returns the error
	})
	return world.Injection{Hits: i.Hits, Heal: func(ctx context.Context) error {
		timer.Stop()
		return heal(ctx)
	}}
}

// nothing is what an experiment does that selects no pod: it hits nothing, which is for the verdict to say.
func nothing() world.Injection {
	return world.Injection{Heal: func(context.Context) error { return nil }, Hits: func() int { return 0 }}
}

// together makes one injection of several.
func together(all []world.Injection) world.Injection {
	return world.Injection{
		Heal: func(ctx context.Context) error {
			var errs []error
			for _, one := range all {
				errs = append(errs, one.Heal(ctx))
			}
			return errors.Join(errs...)
		},
		Hits: func() (sum int) {
			for _, one := range all {
				sum += one.Hits()
			}
			return sum
		},
	}
}
