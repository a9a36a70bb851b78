package scope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bell wakes waits: watches ring it for a namespace, and whoever waits for something in that namespace looks again.
// A lost ring costs one fallback interval, never more.
type Bell struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// Ring wakes all waits for the namespace.
func (b *Bell) Ring(namespace string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rung, waits := b.waiting[namespace]; waits {
		close(rung)
		delete(b.waiting, namespace)
	}
}

// Listen returns a channel that is closed at the next Ring for the namespace.
func (b *Bell) Listen(namespace string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan struct{}{}
	}
	rung, waits := b.waiting[namespace]
	if !waits {
		rung = make(chan struct{})
		b.waiting[namespace] = rung
	}
	return rung
}

// TimeoutError says what a wait was still waiting for when its time was up.
type TimeoutError struct {
	What    string
	Timeout time.Duration
	// Last is why it was not there at the last look.
	Last error
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s is not there after %s: %v", e.What, e.Timeout, e.Last)
}

// Unwrap returns the reason of the last look.
func (e *TimeoutError) Unwrap() error { return e.Last }

// permanentError ends a wait at once.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// Permanent marks an error of a look that no waiting will mend.
func Permanent(err error) error { return permanentError{err} }

// Until looks until look returns nil, or an error marked Permanent, or the timeout is over, or ctx is done. It looks
// again whenever the Bell rings for the control-plane namespace, and at the fallback interval.
func (s *Scope) Until(ctx context.Context, timeout time.Duration, what string,
	look func(context.Context) error) error {
	deadline := s.Clock.NewTimer(timeout)
	defer deadline.Stop()
	for {
		rung := s.Bell.Listen(s.Namespace())
		err := look(ctx)
		if err == nil {
			return nil
		}
		if permanent := (permanentError{}); errors.As(err, &permanent) {
			return permanent.error
		}
		fallback := s.Clock.NewTimer(s.WaitInterval)
		select {
		case <-rung:
		case <-fallback.C():
		case <-deadline.C():
			fallback.Stop()
			return &TimeoutError{What: what, Timeout: timeout, Last: err}
		case <-ctx.Done():
			fallback.Stop()
			return fmt.Errorf("wait for %s: %w (last: %w)", what, context.Cause(ctx), err)
		}
		fallback.Stop()
	}
}
