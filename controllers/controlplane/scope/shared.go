package scope

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Freshness is how old a live read may be that serves whoever asks for the same. It is for what a run reads once, and
// then uses to its end: the age of the read adds little to that. Whoever decides what cannot be undone reads for
// himself.
const Freshness = time.Second

// Shared is one live read for all who ask for the same within Freshness. What it returns is shared: nobody may change
// it. The zero value has read nothing.
type Shared[T any] struct {
	mu    sync.Mutex
	value T
	asked time.Time // zero before the first read
}

// Get returns what was read within Freshness, counted from before the read, or reads. Errors are not kept. Nothing is
// locked while it reads: two may read at once, so that nobody waits for another's call.
func (s *Shared[T]) Get(ctx context.Context, clock clock.PassiveClock,
	read func(context.Context) (T, error)) (T, error) {
	asked := clock.Now()
	if value, fresh := s.fresh(asked); fresh {
		return value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !asked.Before(s.asked) {
		s.value, s.asked = value, asked
	}
	return value, nil
}

func (s *Shared[T]) fresh(now time.Time) (value T, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := now.Sub(s.asked)
	return s.value, !s.asked.IsZero() && age >= 0 && age < Freshness
}
