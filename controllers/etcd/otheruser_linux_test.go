package etcd_test

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// inOtherUsersThread lends its thread to another user while run works.
func inOtherUsersThread(run func() error) error {
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
