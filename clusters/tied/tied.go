// Package tied starts programs that end with the process that has started them, however that ends.
package tied

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start a command, which gets the signal when this process ends. The caller calls Wait. It is like exec.Cmd.Start with
// Pdeathsig, except that the kernel counts the end of the thread that has started a program, and Go ends threads: that
// of a goroutine which returns without runtime.UnlockOSThread. Here the thread belongs to the command until that has
// ended.
func Start(command *exec.Cmd, signal syscall.Signal) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = signal
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		var pid int
		if err == nil {
			pid = command.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		// Whoever called may have waited for it already: then there is no such child.
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return <-started
}
