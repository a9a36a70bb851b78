package podworker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
)

const (
	// configRetry is when a container whose configuration lacks something is looked at again, if nothing it refers to
	// changes before.
	configRetry = 5 * time.Second
	// drainTime bounds how long output is still read after a container has ended.
	drainTime = 2 * time.Second
)

// errConfig wraps what is wrong with a container's configuration, as against what is wrong with its command.
type errConfig struct{ error }

func (e errConfig) Unwrap() error { return e.error }

// attempt is one try to start a container. It is made elsewhere, from copies of what the worker knows.
type attempt struct {
	*Node
	pod      *corev1.Pod // with its addresses
	spec     *corev1.Container
	folder   string // of this container
	programs string
	run      int
	worker   *Worker // only for objects, volumes and their mutex

	environment *podenv.Environment
	log         *containerlog.Log
	process     *container.Process
	copied      sync.WaitGroup // of the output
}

func (w *Worker) start(ctx context.Context, i *instance, programs string) {
	i.starting, i.started, i.ready = true, false, false
	if i.waiting == nil && i.ended == nil {
		i.say("ContainerCreating", "")
	}
	a := &attempt{Node: w.Node, pod: w.addressed(), spec: i.spec, folder: w.containerFolder(i.spec.Name),
		programs: programs, run: i.runs, worker: w}
	if a.run > 0 {
		a.forgetOldLogs()
	}
	w.elsewhere(func() func() {
		err := a.do(ctx)
		return func() { w.startEnded(ctx, i, a, err) }
	})
}

func logPath(folder string, run int) string { return filepath.Join(folder, strconv.Itoa(run)+".log") }

// forgetOldLogs keeps the log of the run before, for "kubectl logs --previous".
func (a *attempt) forgetOldLogs() {
	if err := containerlog.Closed(logPath(a.folder, a.run-2)).Remove(); err != nil {
		a.worker.Log.Error(err, "Could not remove an old log", "pod", a.pod.Name)
	}
}

func (a *attempt) do(ctx context.Context) error {
	spec, err := a.configure(ctx)
	if err != nil {
		return errConfig{err}
	}
	if a.log, err = containerlog.Create(logPath(a.folder, a.run), a.Clock); err != nil {
		return err
	}
	stdout, closeStdout, err := a.capture(containerlog.Stdout)
	if err != nil {
		return err
	}
	defer closeStdout()
	stderr, closeStderr, err := a.capture(containerlog.Stderr)
	if err != nil {
		return err
	}
	defer closeStderr()
	a.process, err = a.Launcher.Start(spec, stdout, stderr)
	return err
}

// capture returns a file whose content goes to the log. The close function is called when the child has the file.
func (a *attempt) capture(stream containerlog.Stream) (*os.File, func(), error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make the pipe for the container's %s: %w", stream, err)
	}
	a.copied.Go(func() {
		if err := a.log.Copy(stream, reader); err != nil {
			a.Log.Error(err, "Output of a container is lost", "pod", a.pod.Name, "container", a.spec.Name)
		}
		_ = reader.Close() // only read from
	})
	return writer, func() { _ = writer.Close() }, nil
}

// startEnded notes that the container runs, or why not.
func (w *Worker) startEnded(ctx context.Context, i *instance, a *attempt, err error) {
	i.starting, i.environment = false, a.environment
	var config errConfig
	var start *container.StartError
	switch {
	case err == nil:
		w.running(ctx, i, a)
	case errors.As(err, &config):
		w.sayError(i, "CreateContainerConfigError", err)
		i.configRetry = w.Clock.Now().Add(configRetry)
	case errors.As(err, &start):
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		i.runs++
		now := w.Clock.Now()
		i.startedAt, i.log, i.id = now, a.log, newID()
		w.noteExit(i, &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: err.Error()})
		a.endLog(w)
	default:
		w.sayError(i, "CreateContainerError", err)
		i.notBefore = w.Clock.Now().Add(max(i.crash.Next(), i.crash.Base))
	}
	if err != nil && a.log != nil {
		a.endLog(w)
	}
}

func (w *Worker) sayError(i *instance, reason string, err error) {
	if i.waiting == nil || i.waiting.Message != err.Error() {
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: %v", err)
	}
	i.say(reason, err.Error())
}

func (w *Worker) running(ctx context.Context, i *instance, a *attempt) {
	i.process, i.log, i.id = a.process, a.log, newID()
	i.startedAt, i.waiting, i.stopping = w.Clock.Now(), nil, false
	i.runs++
	w.eventf(i, corev1.EventTypeNormal, "Created", "Container created")
	w.eventf(i, corev1.EventTypeNormal, "Started", "Container started")
	process := a.process
	w.elsewhere(func() func() {
		<-process.Done()
		a.drain()
		return func() { w.exited(i, process) }
	})
	w.afterStart(ctx, i)
}

// idPrefix names the runtime in containers' IDs.
const idPrefix = "processnode://"

func newID() string {
	var id [32]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func (i *instance) containerID() string {
	if i.id == "" {
		return ""
	}
	return idPrefix + i.id
}
