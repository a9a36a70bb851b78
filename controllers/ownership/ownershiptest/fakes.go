// Package ownershiptest has fakes of what package ownership is injected with, for tests of whoever uses it. It is not
// for anything that runs.
package ownershiptest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Clock is a clock that only Step moves. Its zero value is ready.
type Clock struct {
	mu     sync.Mutex
	now    ownership.Instant
	boot   int
	timers []timer
}

type timer struct {
	at ownership.Instant
	c  chan time.Time
}

var _ ownership.Clock = &Clock{}

// Now implements ownership.Clock.
func (c *Clock) Now() ownership.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// BootID implements ownership.Clock.
func (c *Clock) BootID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return "boot-" + strconv.Itoa(c.boot)
}

// After implements ownership.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	if d <= 0 {
		t.c <- time.Time{}
	} else {
		c.timers = append(c.timers, t)
	}
	return t.c
}

// Step lets d pass and fires what is due.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	left := c.timers[:0]
	for _, t := range c.timers {
		if t.at <= c.now {
			t.c <- time.Time{}
		} else {
			left = append(left, t)
		}
	}
	c.timers = left
}

// Waiting is how many timers are pending.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Reboot begins the clock anew, from the same reading: only the boot id shows it.
func (c *Clock) Reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot++
}

// ErrDown is what an Authority that is down answers.
var ErrDown = errors.New("the authority is down")

// Authority holds a record in memory. Its zero value is an absent record.
type Authority struct {
	mu      sync.Mutex
	record  ownership.Record
	version int
	down    bool
	lose    bool
	before  func()
	writes  []ownership.Record
}

var _ ownership.Authority = &Authority{}

// Read implements ownership.Authority.
func (a *Authority) Read(context.Context) (ownership.Record, ownership.Version, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return ownership.Record{}, "", ErrDown
	}
	return a.record, a.versionLocked(), nil
}

func (a *Authority) versionLocked() ownership.Version {
	if a.record.Absent() {
		return ""
	}
	return ownership.Version(strconv.Itoa(a.version))
}

// CompareAndSet implements ownership.Authority.
func (a *Authority) CompareAndSet(_ context.Context, old ownership.Version, record ownership.Record) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.before != nil {
		before := a.before
		a.before = nil
		a.mu.Unlock()
		before()
		a.mu.Lock()
	}
	if a.down {
		return ErrDown
	}
	if old != a.versionLocked() {
		return ownership.ErrConflict
	}
	a.setLocked(record)
	a.writes = append(a.writes, record)
	if a.lose {
		a.lose = false
		return ErrDown
	}
	return nil
}

func (a *Authority) setLocked(record ownership.Record) {
	a.record = record
	a.version++
}

// Set puts a record there whatever was before, as a restored backup does.
func (a *Authority) Set(record ownership.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setLocked(record)
}

// Down switches the authority off or on.
func (a *Authority) Down(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// LoseNextAnswer applies the next write and answers it with an error.
func (a *Authority) LoseNextAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lose = true
}

// BeforeNextWrite runs f between the arrival and the comparison of the next write.
func (a *Authority) BeforeNextWrite(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = f
}

// Record that is there now.
func (a *Authority) Record() ownership.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

// Writes that CompareAndSet has applied.
func (a *Authority) Writes() []ownership.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]ownership.Record(nil), a.writes...)
}
