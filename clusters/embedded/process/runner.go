package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("the process runner is closed")

// timerSlack is by how much the kernel may be late when it wakes a process, and what that starts: by default 50 µs. The
// runtime of each Go program wakes up every 20 µs while the program works, to look whether it is stuck. It now does so
// about as often as without work, and timers that are close to each other fire together. A busy API server takes a
// seventh less processor time.
const timerSlack = time.Millisecond

// Runner starts processes from one operating system thread that it keeps for itself.
//
// The kernel's parent-death signal fires when the forking thread ends, not the process; Go ends threads as it
// likes, so children are only safe when they come from a thread that stays as long as the runner.
type Runner struct {
	requests chan request
	closed   chan struct{}

	mutex   sync.Mutex
	running []*Process // in order of start
	ending  bool
}

type request struct {
	command *exec.Cmd
	answer  chan error
}

// NewRunner starts the thread. Close ends it.
func NewRunner() *Runner {
	r := &Runner{requests: make(chan request), closed: make(chan struct{})}
	go r.thread()
	return r
}

func (r *Runner) thread() {
	// Never unlocked: when this goroutine returns, Go ends the thread, and the kernel kills what is left.
	runtime.LockOSThread()
	// It is inherited. Without it, everything is only a little dearer.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0)
	for {
		select {
		case q := <-r.requests:
			q.answer <- q.command.Start()
		case <-r.closed:
			return
		}
	}
}

// Start starts a process, which the caller stops.
func (r *Runner) Start(spec Spec) (*Process, error) {
	command, log, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	if log != nil {
		defer log.Close() // the child has its own descriptor
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ending {
		return nil, fmt.Errorf("start process %q: %w", spec.Name, ErrClosed)
	}
	q := request{command: command, answer: make(chan error, 1)}
	r.requests <- q
	if err := <-q.answer; err != nil {
		return nil, fmt.Errorf("start process %q: %w", spec.Name, err)
	}
	p := &Process{spec: spec, pid: command.Process.Pid, cmd: command, done: make(chan struct{})}
	p.birth, _ = birth(p.pid) // a child that has already gone has no birth to recognize it by, and needs none
	r.running = append(r.running, p)
	go r.reap(p)
	if spec.Log != "" {
		go Rotate(p.done, spec.Log)
	}
	return p, nil
}

func (r *Runner) reap(p *Process) {
	p.err = p.cmd.Wait()
	r.mutex.Lock()
	r.running = slices.DeleteFunc(r.running, func(other *Process) bool { return other == p })
	r.mutex.Unlock()
	close(p.done)
}

// Running lists the processes that have not ended, in order of start.
func (r *Runner) Running() []*Process {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.running)
}

// Close kills what still runs, waits for it and ends the thread. It may be called more than once.
func (r *Runner) Close() error {
	r.mutex.Lock()
	first := !r.ending
	r.ending = true
	r.mutex.Unlock()
	var errs []error
	for _, p := range r.Running() {
		errs = append(errs, p.Kill())
	}
	if first {
		close(r.closed)
	}
	return errors.Join(errs...)
}
