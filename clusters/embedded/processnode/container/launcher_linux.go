package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Launcher starts containers from one operating system thread that never ends.
//
// The kernel's parent-death signal fires when the forking thread ends, not the process; Go ends threads as it likes,
// so children are only safe when they come from a thread that stays.
type Launcher struct {
	initArgs []string
	starts   chan start
}

type start struct {
	command *exec.Cmd
	answer  chan error
}

// NewLauncher starts the thread. The arguments make the calling program run Init.
func NewLauncher(initArgs ...string) *Launcher {
	l := &Launcher{initArgs: initArgs, starts: make(chan start)}
	go l.thread()
	return l
}

func (l *Launcher) thread() {
	runtime.LockOSThread()
	for s := range l.starts {
		s.answer <- s.command.Start()
	}
}

// Start starts a container and returns when its command runs. The error is a *StartError when the command itself
// cannot be run. The caller closes the files.
func (l *Launcher) Start(spec Spec, stdout, stderr *os.File) (*Process, error) {
	spec.Rootless = isRootless()
	specReader, specWriter, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe for the container's spec: %w", err)
	}
	// Open until the command runs: its end shows the init that the parent is gone.
	defer specWriter.Close()
	resultReader, resultWriter, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the pipe for the container's result: %w", err), specReader.Close())
	}
	defer resultReader.Close()

	if !spec.Rootless {
		giveTo(spec.User, stdout, stderr)
	}
	p := &Process{pidfd: -1, user: spec.User, rootless: spec.Rootless, capabilities: spec.Capabilities,
		done: make(chan struct{})}
	command := l.command(spec, &p.pidfd)
	command.Stdout, command.Stderr = stdout, stderr
	command.ExtraFiles = []*os.File{specReader, resultWriter}
	answer := make(chan error, 1)
	l.starts <- start{command, answer}
	err = errors.Join(<-answer, specReader.Close(), resultWriter.Close())
	if err != nil {
		return nil, fmt.Errorf("start the container's process: %w", err)
	}
	p.pid = command.Process.Pid
	go p.reap(command)
	if err := handOver(spec, specWriter, resultReader); err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

func (l *Launcher) command(spec Spec, pidfd *int) *exec.Cmd {
	command := exec.Command("/proc/self/exe", l.initArgs...)
	command.Args[0] = os.Args[0]
	command.Env = []string{"GOMAXPROCS=1", "GOGC=off"} // of the init, which lives for milliseconds
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL,
		PidFD:      pidfd,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS,
	}
	if spec.Rootless && (spec.User.UID != 0 || spec.User.GID != 0) {
		// The one user we have appears under the number that was asked for.
		command.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(spec.User.UID), HostID: 0, Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(spec.User.GID), HostID: 0, Size: 1}}
		for _, name := range []string{"DAC_OVERRIDE", "SETPCAP", "SYS_CHROOT", "SYS_ADMIN"} {
			command.SysProcAttr.AmbientCaps = append(command.SysProcAttr.AmbientCaps, capabilities[name])
		}
	}
	return command
}

// giveTo lets the container's user open /dev/stdout and /dev/stderr.
func giveTo(user User, files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Chown(int(user.UID), int(user.GID)) // not every kind of file has an owner
		}
	}
}

// handOver sends the spec and waits until the init has become the command, or says why it has not.
func handOver(spec Spec, to io.Writer, result io.Reader) error {
	sent := make(chan error, 1)
	go func() { sent <- json.NewEncoder(to).Encode(spec) }()
	var failure initFailure
	switch err := json.NewDecoder(result).Decode(&failure); {
	case errors.Is(err, io.EOF):
		if err := <-sent; err != nil {
			return fmt.Errorf("send the container's spec: %w", err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("read the result of the container's init: %w", err)
	case failure.Command:
		return &StartError{Message: failure.Message}
	default:
		return &prepareError{failure}
	}
}

// prepareError is why the init could not prepare the container.
type prepareError struct{ initFailure }

func (e *prepareError) Error() string { return "prepare the container: " + e.Message }

// Is says whether the kernel's error was this one.
func (e *prepareError) Is(target error) bool { return e.Number != 0 && target == error(e.Number) }
