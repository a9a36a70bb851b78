// Package process starts, watches, freezes and stops the child processes of a landscape, so that none of them
// survives the process that started it, however that one ends.
//
// It knows nothing of Kubernetes and restarts nothing: what an exit means is for the caller to judge.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Spec says what to start. Args exclude the program's own name; Env is added to what it inherits.
type Spec struct {
	Name string   // how people call it, e.g. "garden/etcd"
	Path string   // the executable
	Args []string // without the program name
	Env  []string // KEY=value, wins over the parent's
	Dir  string   // working directory; empty means the parent's
	Log  string   // file that stdout and stderr are appended to; empty discards them
	// Inherit names the variables of the parent that this process needs besides those that each process gets. A name
	// that ends in "*" is that of all variables which begin so.
	Inherit []string
}

// Process is one started child. Its methods may be called from any goroutine, also after it has ended.
type Process struct {
	spec  Spec
	pid   int
	birth uint64
	cmd   *exec.Cmd
	done  chan struct{}
	err   error
	asked atomic.Bool
}

// Name is the name in the spec.
func (p *Process) Name() string { return p.spec.Name }

// Spec is what the process was started from, so that it can be started again.
func (p *Process) Spec() Spec { return p.spec }

// PID is the process id. It may belong to another process once Done is closed.
func (p *Process) PID() int { return p.pid }

// ID distinguishes this process from a later one with the same pid.
func (p *Process) ID() ID { return ID{PID: p.pid, Birth: p.birth} }

// Done is closed when the process has ended and has been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err is how the process ended: nil while it runs or after exit code 0, else an *exec.ExitError.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return p.err
}

// Ended is an error that says how the process ended, with the last line of its log, for that is where a program says
// why. It is for one that has ended.
func (p *Process) Ended() error {
	how := "exit status 0"
	if err := p.Err(); err != nil {
		how = err.Error()
	}
	if last := lastLine(p.spec.Log); last != "" {
		return fmt.Errorf("process %q ended (%s): %s (log %s)", p.spec.Name, how, last, p.spec.Log)
	}
	return fmt.Errorf("process %q ended (%s), see %s", p.spec.Name, how, p.spec.Log)
}

// Asked says whether Stop or Kill asked the process to end. One that ended without has died of its own.
func (p *Process) Asked() bool { return p.asked.Load() }

// Signal sends a signal to this process alone. A process that has ended is not an error.
func (p *Process) Signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to process %q: %w", signal, p.spec.Name, err)
	}
	return nil
}

// Stop asks the process to end and kills it when it has not after the grace period, or at once when ctx is done.
// It returns when the process has been reaped.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	p.asked.Store(true)
	err := p.Signal(syscall.SIGTERM)
	// A frozen process would keep SIGTERM pending for ever.
	err = errors.Join(err, p.Signal(syscall.SIGCONT))
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	return errors.Join(err, p.Kill())
}

// Kill sends SIGKILL and waits until the process has been reaped. It works on frozen processes too.
func (p *Process) Kill() error {
	p.asked.Store(true)
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// prepare opens the log and builds the command.
func prepare(spec Spec) (*exec.Cmd, *os.File, error) {
	command := exec.Command(spec.Path, spec.Args...)
	command.Dir = spec.Dir
	command.Env = append(inherit(os.Environ(), spec.Inherit), spec.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if spec.Log == "" {
		return command, nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, nil, fmt.Errorf("make the log folder of process %q: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log of process %q: %w", spec.Name, err)
	}
	command.Stdout, command.Stderr = log, log
	return command, log, nil
}
