// Package otheruser lets tests attack a landscape as another user of the machine. It is not for anything that runs
// outside a test: the process has to be root's.
package otheruser

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/roottest"
)

// Do runs something in a thread that is another user's of this machine, and returns its error. What it starts in other
// goroutines is not. Without root the test is skipped, or fails (package roottest).
func Do(t testing.TB, run func() error) error {
	t.Helper()
	roottest.Need(t, "be another user")
	result := make(chan error)
	go func() { result <- lend(run) }()
	return <-result
}

// lend the thread to another user while run works.
func lend(run func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if err := setUser(nobody); err != nil {
		return err
	}
	err := run()
	// The thread must live on: it may have started processes that end with it (Pdeathsig).
	return errors.Join(err, setUser(0))
}

// setUser of this thread alone; its saved user stays.
func setUser(id uintptr) error {
	same := ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, id, same); errno != 0 {
		return fmt.Errorf("become user %d: %w", id, errno)
	}
	return nil
}
