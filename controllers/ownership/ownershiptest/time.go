package ownershiptest

import (
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Time is a clock that goes by package time: in a bubble of testing/synctest by the bubble's, as deadlines do there.
type Time struct{ begin time.Time }

var _ ownership.Clock = Time{}

// NewTime returns a clock that begins now.
func NewTime() Time { return Time{begin: time.Now()} }

// Now implements ownership.Clock.
func (t Time) Now() ownership.Instant { return ownership.Instant(time.Since(t.begin)) }

// BootID implements ownership.Clock.
func (Time) BootID() string { return "boot" }

// After implements ownership.Clock.
func (Time) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Eventually polls, with a bound, for what another goroutine does.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting for %s", what)
}
