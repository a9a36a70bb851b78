package requests

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Hits counts what a fault hits, of any kind, on all links where it is at work; and which requests it hits.
type Hits struct {
	hook    Hook
	turns   turns
	strikes strikes
	count   atomic.Int64
}

// Hook is called for a request that a fault hits, at that moment. The request waits until the hook returns;
// its context ends with the client. A hook may heal its fault, and must not await the end of it.
type Hook func(context.Context, kubeapi.Request)

// NewHits counts those of a fault that hits requests in turn. The hook may be nil.
func NewHits(t Turn, hook Hook) *Hits {
	return &Hits{hook: hook, turns: turns{Turn: t}, strikes: newStrikes()}
}

// Count is how many there are.
func (h *Hits) Count() int { return int(h.count.Load()) }

// End lets no further request be hit.
func (h *Hits) End() { h.strikes.close() }

// Idle is closed when, after the end, every request that was just being hit has been hit, and its hook has returned.
func (h *Hits) Idle() <-chan struct{} { return h.strikes.idle }

// strikes counts the requests that a fault is striking, and lets nobody be struck after its end.
type strikes struct {
	mu       sync.Mutex
	underway int
	closed   bool
	idle     chan struct{} // closed when there are none and will be none
}

func newStrikes() strikes { return strikes{idle: make(chan struct{})} }

// enter begins one; false when the fault has ended. Each that has begun must leave.
func (s *strikes) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.underway++
	return true
}

func (s *strikes) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underway--; s.closed && s.underway == 0 {
		close(s.idle)
	}
}

func (s *strikes) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.underway == 0 {
		close(s.idle)
	}
}
