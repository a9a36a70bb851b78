package kind

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// guard is a process that removes the landscape's containers when the one that started it has died without doing so.
// Containers are children of Docker's, so no signal of the kernel reaches them as it does those of package embedded.
type guard struct {
	command *exec.Cmd
	pipe    io.WriteCloser
}

// watchScript reads until its pipe ends: with a word it is dismissed, without one its master has died. What the master
// has asked Docker to create may still come, so it looks more than once.
const watchScript = `read -r word && exit 0
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do docker rm --force --volumes "$@"; sleep 1; done`

func newGuard(containers []string) (*guard, error) {
	command := exec.Command("sh", append([]string{"-c", watchScript, "transplant-guard"}, containers...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not to die of what its master dies of
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe to the guard: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{command: command, pipe: pipe}, nil
}

// dismiss ends the guard. Nothing is left for it to do.
func (g *guard) dismiss() error {
	_, err := io.WriteString(g.pipe, "done\n")
	if err := errors.Join(err, g.pipe.Close(), g.command.Wait()); err != nil {
		return fmt.Errorf("dismiss the guard: %w", err)
	}
	return nil
}
