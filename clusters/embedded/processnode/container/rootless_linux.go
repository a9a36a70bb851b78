package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// rootlessMark is set in the environment of a process that AsRoot has started.
const rootlessMark = "TRANSPLANT_ROOTLESS"

func isRootless() bool { return os.Getenv(rootlessMark) != "" }

// AsRoot makes sure that the calling program may make namespaces. For root it does nothing and returns false, if root
// has the capabilities that containers take. For others, also for root in a container without them, it runs the same
// program once more as root of a user namespace of its own, waits for it, and returns true and its exit code; it dies
// with the caller, and SIGINT and SIGTERM are passed on to it. Where the machine allows no user namespace, the error
// says what to do.
func AsRoot() (ran bool, exitCode int, err error) {
	if isRootless() || readRights(os.DirFS("/proc")).isRoot() {
		return false, 0, nil
	}
	runtime.LockOSThread() // see Launcher: the child dies with this thread
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Args[0] = os.Args[0]
	command.Env = append(os.Environ(), rootlessMark+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return false, 0, fmt.Errorf("make a user namespace: %w", Refused(err))
	}
	go func() {
		for s := range signals {
			_ = command.Process.Signal(s) // it fails only for a process that is gone
		}
	}()
	err = command.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return true, 1, fmt.Errorf("wait for the process in the user namespace: %w", err)
	}
	return true, exitOf(command, err).Code, nil
}

// EndWithParent ends the calling program when its parent process ends, whatever thread started it.
func EndWithParent() error {
	parent := os.Getppid()
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil {
		return fmt.Errorf("watch the parent process: %w", err)
	}
	go func() {
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if err == nil || !errors.Is(err, unix.EINTR) {
				os.Exit(1)
			}
		}
	}()
	if os.Getppid() != parent {
		os.Exit(1)
	}
	return nil
}
