package requests

import (
	"fmt"
	"sync"
)

// Turn says which of the selected requests a fault hits; the zero value means all. What a crash, a lost answer or a
// tripwire is to strike after the server has carried it out is counted then, and only if it was.
type Turn struct {
	// Nth alone is hit, counted from 1 at the injection.
	Nth int `json:"nth,omitempty"`
	// From is the first that is hit.
	From int `json:"from,omitempty"`
	// Every so many are hit: of 3 the third, the sixth and so on.
	Every int `json:"every,omitempty"`
	// Times bounds how many are hit.
	Times int `json:"times,omitempty"`
}

// Validate finds what contradicts itself.
func (t Turn) Validate() error {
	if min(t.Nth, t.From, t.Every, t.Times) < 0 {
		return fmt.Errorf("nth %d, from %d, every %d, times %d: must not be negative", t.Nth, t.From, t.Every, t.Times)
	}
	if t.Nth > 0 && (t.From > 0 || t.Every > 0 || t.Times > 0) {
		return fmt.Errorf("nth %d: stands alone, without from, every and times", t.Nth)
	}
	return nil
}

// turns counts requests of one fault on all links where it is at work.
type turns struct {
	Turn
	mu         sync.Mutex
	seen, hits int
}

// next counts a selected request and says whether the fault hits it.
func (t *turns) next() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen++
	switch {
	case t.Nth > 0 && t.seen != t.Nth,
		t.seen < t.From,
		t.Every > 0 && (t.seen-max(t.From-1, 0))%t.Every != 0,
		t.Times > 0 && t.hits >= t.Times:
		return false
	}
	t.hits++
	return true
}
