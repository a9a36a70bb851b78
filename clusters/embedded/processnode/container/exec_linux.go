package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainDelay bounds how long output is still read after a process has ended, in case it left a descendant behind.
const drainDelay = 2 * time.Second

// Exec runs a further process in the container and waits for it. When ctx is done, the process and its group are
// killed and the error is ctx's. The error is a *StartError when the command cannot be run.
func (p *Process) Exec(ctx context.Context, c Command) (Exit, error) {
	type result struct {
		exit Exit
		err  error
	}
	results := make(chan result, 1)
	var tty *terminal
	if c.TTY {
		var err error
		if tty, err = openTerminal(); err != nil { // the host's: the container has no /dev/pts
			return Exit{}, err
		}
		defer tty.Close()
	}
	go func() {
		// The thread joins the container for good: it ends with this goroutine, which is therefore never unlocked.
		runtime.LockOSThread()
		exit, err := p.execOnThisThread(ctx, c, tty)
		results <- result{exit, err}
	}()
	r := <-results
	return r.exit, r.err
}

func (p *Process) execOnThisThread(ctx context.Context, c Command, tty *terminal) (Exit, error) {
	if err := p.join(); err != nil {
		return Exit{}, err
	}
	if len(c.Args) == 0 {
		return Exit{}, &StartError{Message: "no command specified"}
	}
	path, err := lookPath(c.Args[0], c.Env)
	if err != nil {
		return Exit{}, &StartError{Message: err.Error()}
	}
	if err := keepCapabilities(p.capabilities); err != nil {
		return Exit{}, err
	}
	command := exec.CommandContext(ctx, path, c.Args[1:]...) // with a slash in it, so it is not looked up again
	command.Args[0] = c.Args[0]
	command.Env = c.Env
	command.Dir = c.Dir
	command.Dir = cmp.Or(command.Dir, "/")
	command.WaitDelay = drainDelay
	// No parent-death signal: it dies with the container's PID 1, and Go would take a parent outside the namespace for
	// dead.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if !p.rootless {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: p.user.UID, Gid: p.user.GID, Groups: p.user.Groups}
	}
	if tty != nil {
		return tty.run(ctx, command, c)
	}
	return runOnPipes(ctx, command, c)
}

// join moves the calling thread into the container's namespaces; for the PID namespace that means its children.
func (p *Process) join() error {
	fd, err := p.namespaces()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("part the thread from the others: %w", err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWUTS); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrNotRunning
		}
		return fmt.Errorf("join the container: %w", err)
	}
	return nil
}

func runOnPipes(ctx context.Context, command *exec.Cmd, c Command) (Exit, error) {
	command.Stdout, command.Stderr = c.Stdout, c.Stderr
	if c.Stdin != nil {
		// Not command.Stdin: the wait would last until a reader that nobody closes has ended.
		stdin, err := command.StdinPipe()
		if err != nil {
			return Exit{}, fmt.Errorf("make the pipe for standard input: %w", err)
		}
		go func() {
			_, _ = io.Copy(stdin, c.Stdin) // either side may end first
			_ = stdin.Close()
		}()
	}
	if err := command.Start(); err != nil {
		return Exit{}, &StartError{Message: fmt.Sprintf("exec: %v", err)}
	}
	return wait(ctx, command)
}

func wait(ctx context.Context, command *exec.Cmd) (Exit, error) {
	err := command.Wait()
	if ctx.Err() != nil {
		return exitOf(command, err), ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		return Exit{}, fmt.Errorf("wait for the command: %w", err)
	}
	return exitOf(command, err), nil
}
