package etcd_test

import (
	"fmt"
	"runtime"
	"syscall"
)

// inOtherUsersThread never gives the thread back: it ends with the goroutine.
func inOtherUsersThread(run func() error) error {
	runtime.LockOSThread()
	const nobody = 65534
	same := ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, nobody, same); errno != 0 {
		return fmt.Errorf("become another user: %w", errno)
	}
	return run()
}
