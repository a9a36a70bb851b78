package ownership

import (
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Instant is a reading of one machine's Clock, counted from its boot. It means nothing to any other machine and is
// never sent to one.
type Instant time.Duration

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i - other) }

// Clock counts every pause of the process and of the machine (docs/ownership.md#o2, docs/ownership.md#assumption-a2).
type Clock interface {
	Now() Instant
	// BootID changes when the clock starts anew.
	BootID() string
	// After delivers once at least d has passed. A pause may make it late, so look at Now again.
	After(d time.Duration) <-chan time.Time
}

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// BootClock reads the kernel's CLOCK_BOOTTIME, which runs on through SIGSTOP, frozen cgroups and suspend. A pause of
// the whole virtual machine is beyond it (docs/ownership.md#assumption-a2).
type BootClock struct{ bootID string }

var _ Clock = BootClock{}

// NewBootClock fails where the kernel has no such clock.
func NewBootClock() (BootClock, error) {
	id, err := os.ReadFile(bootIDFile)
	if err != nil {
		return BootClock{}, fmt.Errorf("read the boot id: %w", err)
	}
	if _, err := bootTime(); err != nil {
		return BootClock{}, fmt.Errorf("read the boot clock: %w", err)
	}
	return BootClock{bootID: strings.TrimSpace(string(id))}, nil
}

// Now implements Clock. The kernel cannot refuse a clock that it has once given.
func (BootClock) Now() Instant {
	now, err := bootTime()
	if err != nil {
		panic(fmt.Sprintf("ownership: the boot clock is gone: %v", err))
	}
	return now
}

// BootID implements Clock.
func (c BootClock) BootID() string { return c.bootID }

// After implements Clock.
func (BootClock) After(d time.Duration) <-chan time.Time { return clock.RealClock{}.After(d) }
