package ownership

import (
	"fmt"
	"time"
)

// Timing is the pair of periods on which safety rests. All seeds of a landscape use the same
// (docs/ownership.md#spec-9-2, docs/ownership.md#spec-9-4).
type Timing struct {
	// Interval is how often a guard reads both authorities. While both name it, and Timeout is at least five intervals, it
	// reads one of them each time, in turn.
	Interval time.Duration
	// Timeout is how long a read gives validity, counted from its start.
	Timeout time.Duration
}

// DefaultTiming is that of docs/ownership.md#spec-9-4.
var DefaultTiming = Timing{Interval: 5 * time.Second, Timeout: 30 * time.Second}

// Validate refuses a timing with which a guard would lapse between two reads.
func (t Timing) Validate() error {
	if t.Interval <= 0 || t.Timeout < 2*t.Interval {
		return fmt.Errorf("check the ownership timing: the timeout %v must be at least twice the interval %v", t.Timeout,
			t.Interval)
	}
	return nil
}

// Wait is W (docs/ownership.md#spec-9-2-wait): how long a new owner waits after it knew both of its writes to be done.
func (t Timing) Wait() time.Duration { return WithDrift(t.Timeout) + t.Interval }

// ReadDeadline bounds one read of an authority, below the interval (docs/ownership.md#o1).
func (t Timing) ReadDeadline() time.Duration { return t.Interval * 9 / 10 }

// callDeadline bounds one call of a take-over. No rule rests on how long it takes, and one that fails ends the run: so
// it is longer than a guard's, and no longer than a guard could live without an answer.
func (t Timing) callDeadline() time.Duration { return t.Timeout }

// WithDrift is how long to wait on one's own clock until d has surely passed on another's (10 %).
func WithDrift(d time.Duration) time.Duration { return d + d/10 }
