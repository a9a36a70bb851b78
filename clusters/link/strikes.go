package link

import "sync"

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
