package container

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Process is a container's first process. Its methods may be called from any goroutine, also after it has ended.
type Process struct {
	pid          int
	user         User
	rootless     bool
	capabilities []string
	done         chan struct{}
	exit         Exit

	mutex sync.Mutex
	pidfd int // -1 once the process has been reaped
}

// PID is the process id on the host.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process and all its descendants have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the process ended. It may be called once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

func (p *Process) reap(command *exec.Cmd) {
	err := command.Wait()
	p.exit = exitOf(command, err)
	p.mutex.Lock()
	if p.pidfd >= 0 {
		_ = unix.Close(p.pidfd) // nothing is written to it
		p.pidfd = -1
	}
	p.mutex.Unlock()
	close(p.done)
}

// Signal sends a signal to the container's first process. One that has ended is ErrNotRunning.
func (p *Process) Signal(signal syscall.Signal) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.pidfd < 0 {
		return ErrNotRunning
	}
	if err := unix.PidfdSendSignal(p.pidfd, signal, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrNotRunning
		}
		return err
	}
	return nil
}

// Kill sends SIGKILL, which ends all processes of the container, and does not wait.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // it fails only for a process that is gone
}

// namespaces returns a descriptor that setns accepts; the caller closes it.
func (p *Process) namespaces() (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.pidfd < 0 {
		return -1, ErrNotRunning
	}
	return unix.FcntlInt(uintptr(p.pidfd), unix.F_DUPFD_CLOEXEC, 0)
}

func exitOf(command *exec.Cmd, err error) Exit {
	if command.ProcessState == nil {
		return Exit{Code: 255} // the wait itself failed, so nobody knows
	}
	status, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return Exit{Code: 255}
	}
	return Exit{Code: command.ProcessState.ExitCode()}
}
