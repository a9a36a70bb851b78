package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// terminal is a pair of ends: the command has one, whoever talks to it the other.
type terminal struct{ ours, theirs *os.File }

func openTerminal() (*terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("unlock the terminal: %w", err), unix.Close(fd))
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return nil, errors.Join(fmt.Errorf("open the terminal's other end: %w", errno), unix.Close(fd))
	}
	return &terminal{ours: os.NewFile(uintptr(fd), "terminal"), theirs: os.NewFile(peer, "terminal's other end")}, nil
}

// Close lets both ends go.
func (t *terminal) Close() {
	_ = t.ours.Close()
	_ = t.theirs.Close() // closed before when the command has started
}

// run runs the command on the terminal. All that it wrote has been read on return.
func (t *terminal) run(ctx context.Context, command *exec.Cmd, c Command) (Exit, error) {
	command.Stdin, command.Stdout, command.Stderr = t.theirs, t.theirs, t.theirs
	command.SysProcAttr.Setctty = true
	err := command.Start()
	_ = t.theirs.Close() // the command has its own
	if err != nil {
		return Exit{}, &StartError{Message: fmt.Sprintf("exec: %v", err)}
	}
	go t.resize(c.Resize)
	if c.Stdin != nil {
		go func() { _, _ = io.Copy(t.ours, c.Stdin) }() // either side may end first
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		if c.Stdout != nil {
			_, _ = io.Copy(c.Stdout, t.ours) // ends with EIO when the command's end is closed
		}
	}()
	exit, err := wait(ctx, command)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainDelay)
	defer cancel()
	select {
	case <-drained:
	case <-late.Done():
	}
	return exit, err
}

func (t *terminal) resize(sizes <-chan Size) {
	connection, err := t.ours.SyscallConn()
	if err != nil {
		return // closed
	}
	for size := range sizes {
		_ = connection.Control(func(fd uintptr) { // a size that cannot be set is not worth ending the session for
			_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Height, Col: size.Width})
		})
	}
}
