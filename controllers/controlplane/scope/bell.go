package scope

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bell wakes waits: watches ring it for a name, and whoever waits for what has that name looks again. It is that of a
// control-plane namespace, for something in it, or that of a BackupEntry in the garden. A wait whose ring is lost looks
// again at the fallback interval.
type Bell struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// Ring wakes all waits for the name.
func (b *Bell) Ring(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rung, waits := b.waiting[name]; waits {
		close(rung)
		delete(b.waiting, name)
	}
}

// Listen returns a channel that is closed at the next Ring for the name.
func (b *Bell) Listen(name string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan struct{}{}
	}
	rung, waits := b.waiting[name]
	if !waits {
		rung = make(chan struct{})
		b.waiting[name] = rung
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
	return waiting{look: look, pause: func() time.Duration { return s.WaitInterval }}.wait(ctx, s, s.Namespace(), timeout,
		what)
}

// waiting is how a wait looks.
type waiting struct {
	look func(context.Context) error
	// last looks once more when the time is up; nil for no more look.
	last func(context.Context) error
	// pause is after how long to look again if the Bell does not ring.
	pause func() time.Duration
}

func (w waiting) wait(ctx context.Context, s *Scope, name string, timeout time.Duration, what string) error {
	deadline := s.Clock.NewTimer(timeout)
	defer deadline.Stop()
	for {
		rung := s.Bell.Listen(name)
		err := w.look(ctx)
		if permanent := (permanentError{}); err == nil || errors.As(err, &permanent) {
			return permanent.error
		}
		fallback := s.Clock.NewTimer(w.pause())
		select {
		case <-rung:
		case <-fallback.C():
		case <-deadline.C():
			fallback.Stop()
			if w.last != nil {
				err = w.last(ctx)
			}
			if permanent := (permanentError{}); err == nil || errors.As(err, &permanent) {
				return permanent.error
			}
			return &TimeoutError{What: what, Timeout: timeout, Last: err}
		case <-ctx.Done():
			fallback.Stop()
			return fmt.Errorf("wait for %s: %w (last: %w)", what, context.Cause(ctx), err)
		}
		fallback.Stop()
	}
}
