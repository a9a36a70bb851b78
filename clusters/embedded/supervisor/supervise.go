// Package supervisor keeps a landscape up after the command that asked for it has returned.
//
// Supervise is the life of the detached process, Up and Down are what the commands do about it. The landscape itself is
// package embedded's; "transplant run" holds one in its own process and does without a supervisor.
package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Descriptors that Up hands to Supervise.
const (
	newsDescriptor  = 3 // Supervise writes messages, one JSON object a line
	leashDescriptor = 4 // Up holds the other end until the landscape is ready
)

// released is what Up writes into the leash when the landscape may live on without it.
const released = 'r'

// message is a line of news from Supervise to Up. Exactly one ends with Ready or Error.
type message struct {
	embedded.Progress
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
}

// Landscape is what a supervisor holds up.
type Landscape interface {
	clusters.Landscape
	State() rundir.State
	Took() time.Duration
	Stop(ctx context.Context) error
}

var _ Landscape = &embedded.Landscape{}

// Given is what a supervisor gives to a landscape: its run directory, which it has taken already, its log, and
// who gets its news.
type Given struct {
	Dir      rundir.Dir
	Lock     *rundir.Lock
	Log      logr.Logger
	Progress func(embedded.Progress)
}

// Start brings a landscape up and returns when it is ready. When it fails it leaves nothing behind.
type Start func(ctx context.Context, given Given) (Landscape, error)

// Embedded starts a landscape of child processes. Name, run directory, lock, log and progress are those given.
func Embedded(options embedded.Options) Start {
	return func(ctx context.Context, given Given) (Landscape, error) {
		options.Name, options.Dir, options.Lock = given.Dir.Name, given.Dir.Path, given.Lock
		options.Log, options.Progress = given.Log, given.Progress
		l, err := embedded.Start(ctx, options)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// stopTimeout bounds the stop of a landscape that nobody waits for.
const stopTimeout = time.Minute

// Supervise brings a landscape up, serves its API and lives until it is asked to end: by SIGTERM or SIGINT, over the
// API, or because Up went away before the landscape was ready. It takes the place of the calling process: standard
// output and error go to the landscape's log.
func Supervise(ctx context.Context, dir rundir.Dir, start Start) error {
	for _, descriptor := range []int{newsDescriptor, leashDescriptor} {
		syscall.CloseOnExec(descriptor) // children that held them would hide this process's end
	}
	news := json.NewEncoder(os.NewFile(newsDescriptor, "news"))
	err := supervise(ctx, dir, start, news)
	if err != nil {
		_ = news.Encode(message{Error: err.Error()}) // Up may be gone
	}
	return err
}

func supervise(ctx context.Context, dir rundir.Dir, start Start, news *json.Encoder) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)

	lock, cleared, err := dir.Acquire()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	log, err := openLog(dir)
	if err != nil {
		return err
	}
	go watchLeash(end)
	go process.Rotate(ctx.Done(), dir.Log())

	given := Given{Dir: dir, Lock: lock, Log: log, Progress: func(p embedded.Progress) {
		log.Info(p.What, "subject", p.Subject)
		_ = news.Encode(message{Progress: p})
	}}
	if cleared {
		given.Progress(embedded.Cleared(dir))
	}
	return serve(ctx, end, given, start, news)
}

// serve runs the landscape with its API until ctx is done.
func serve(ctx context.Context, end context.CancelCauseFunc, given Given, start Start, news *json.Encoder) error {
	api, err := newAPI(given.Dir, func() { end(errAsked) })
	if err != nil {
		return err
	}
	defer api.close()
	landscape, err := start(ctx, given)
	if err != nil {
		given.Log.Error(err, "Landscape did not start")
		return err
	}
	api.ready(landscape)
	given.Log.Info("Landscape is ready", "took", landscape.Took())
	_ = news.Encode(message{Ready: true})
	<-ctx.Done()
	given.Log.Info("Landscape stops", "why", context.Cause(ctx))
	api.stopping()
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return landscape.Stop(cleanup)
}

// Causes of a stop, for the log.
var (
	errAsked = errors.New("somebody asked over the API")
	errLeash = errors.New("the command that started it went away")
)

// watchLeash ends the landscape when Up dies before it has let go.
func watchLeash(end context.CancelCauseFunc) {
	leash := os.NewFile(leashDescriptor, "leash")
	defer leash.Close()
	if first, err := bufio.NewReader(leash).ReadByte(); err != nil || first != released {
		end(errLeash)
	}
}

// openLog sends everything this process says, panics included, to the landscape's log.
func openLog(dir rundir.Dir) (logr.Logger, error) {
	file, err := os.OpenFile(dir.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer file.Close()
	for _, standard := range []io.Writer{os.Stdout, os.Stderr} {
		if err := syscall.Dup3(int(file.Fd()), int(standard.(*os.File).Fd()), 0); err != nil {
			return logr.Logger{}, fmt.Errorf("redirect the output to the supervisor's log: %w", err)
		}
	}
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr)))
	klog.SetLogger(log)
	return log, nil
}
