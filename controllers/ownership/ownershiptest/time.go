package ownershiptest

import (
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
