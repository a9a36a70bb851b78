package validity

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// ErrLapsed is the cause of whatever ends because validity has ended.
var ErrLapsed = errors.New("ownership validity has lapsed")

// Term is one uninterrupted stretch of validity of one epoch (docs/ownership.md#spec-9-1). Once it has lapsed it never
// comes back; a validity that is won again is another Term, so that whatever was opened under the old one stays cut.
type Term struct {
	epoch int64
	clock ownership.Clock
	until atomic.Int64

	mu   sync.Mutex
	done chan struct{}
}

// NewTerm starts a term of the epoch that lasts until the given instant, unless extended or ended.
func NewTerm(clock ownership.Clock, epoch int64, until ownership.Instant) *Term {
	t := &Term{epoch: epoch, clock: clock, done: make(chan struct{})}
	t.until.Store(int64(until))
	go t.watch()
	return t
}

// LapsedTerm is a term that is over: what one has before the first validity.
func LapsedTerm(clock ownership.Clock, epoch int64) *Term {
	t := &Term{epoch: epoch, clock: clock, done: make(chan struct{})}
	close(t.done)
	return t
}

// watch closes Done when the term lapses, so that those who only wait (an idle connection, an open watch) learn it.
func (t *Term) watch() {
	for remaining := t.Remaining(); remaining > 0; remaining = t.Remaining() {
		select {
		case <-t.done:
			return
		case <-t.clock.After(remaining):
		}
	}
}

// Epoch of the term.
func (t *Term) Epoch() int64 { return t.epoch }

// Until is the instant at which the term lapses if nobody extends it; of a term that has ended, the zero instant.
func (t *Term) Until() ownership.Instant { return ownership.Instant(t.until.Load()) }

// Valid reports whether the term still runs. Ask it after a message was received and again immediately before it is
// passed on (docs/ownership.md#o2).
func (t *Term) Valid() bool { return t.Remaining() > 0 }

// Remaining is how long the term still runs if nobody extends it, never negative. It ends a term that has run out.
func (t *Term) Remaining() time.Duration {
	until := t.Until()
	if remaining := until.Sub(t.clock.Now()); remaining > 0 {
		return remaining
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Read again: an extension may have come between the two readings above.
	if remaining := t.Until().Sub(t.clock.Now()); remaining > 0 {
		return remaining
	}
	t.endLocked()
	return 0
}

// Extend moves the end of the term later, never earlier. It reports false if the term is over already.
func (t *Term) Extend(until ownership.Instant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Until().Sub(t.clock.Now()) <= 0 {
		t.endLocked()
		return false
	}
	t.until.Store(max(t.until.Load(), int64(until)))
	return true
}

// End revokes the term at once.
func (t *Term) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked()
}

func (t *Term) endLocked() {
	t.until.Store(0)
	select {
	case <-t.done:
	default:
		close(t.done)
	}
}

// Done is closed when the term is over.
func (t *Term) Done() <-chan struct{} { return t.done }

// Context derives a context that is cancelled, with cause ErrLapsed, when the term is over.
func (t *Term) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-t.done:
			cancel(ErrLapsed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
