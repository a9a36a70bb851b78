package processnode

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	*node
	pod      *corev1.Pod // with its addresses
	spec     *corev1.Container
	folder   string // of this container
	programs string
	run      int
	worker   *worker // only for objects, volumes and their mutex

	environment *podenv.Environment
	log         *containerlog.Log
	process     *container.Process
	copied      sync.WaitGroup // of the output
}

func (w *worker) start(ctx context.Context, i *instance, programs string) {
	i.starting, i.started, i.ready = true, false, false
	if i.waiting == nil && i.ended == nil {
		i.say("ContainerCreating", "")
	}
	a := &attempt{node: w.node, pod: w.addressed(), spec: i.spec, folder: w.containerFolder(i.spec.Name), programs: programs, run: i.runs, worker: w}
	if a.run > 0 {
		a.forgetOldLogs()
	}
	w.elsewhere(func() func() {
		err := a.do(ctx)
		return func() { w.startEnded(ctx, i, a, err) }
	})
}

// addressed is the pod with the addresses that its variables may show before the API server has them.
func (w *worker) addressed() *corev1.Pod {
	pod := w.pod.DeepCopy()
	pod.Status.PodIP, pod.Status.HostIP = w.ip, w.config.Address.String()
	return pod
}

func (w *worker) containerFolder(name string) string {
	return filepath.Join(w.folder, "containers", name)
}

func logPath(folder string, run int) string { return filepath.Join(folder, strconv.Itoa(run)+".log") }

// forgetOldLogs keeps the log of the run before, for "kubectl logs --previous".
func (a *attempt) forgetOldLogs() {
	if err := containerlog.Closed(logPath(a.folder, a.run-2)).Remove(); err != nil {
		a.worker.log.Error(err, "Could not remove an old log", "pod", a.pod.Name)
	}
}

func (a *attempt) do(ctx context.Context) error {
	spec, err := a.configure(ctx)
	if err != nil {
		return errConfig{err}
	}
	if a.log, err = containerlog.Create(logPath(a.folder, a.run), a.clock); err != nil {
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
	a.process, err = a.launcher.Start(spec, stdout, stderr)
	return err
}

// configure works out all that the container needs.
func (a *attempt) configure(ctx context.Context) (container.Spec, error) {
	services, err := a.servicesOf(a.pod.Namespace)
	if err != nil {
		return container.Spec{}, err
	}
	source := podenv.Source{
		Objects: a.worker.objects, Pod: a.pod, Node: a.capacity,
		Services: podenv.Services(services, a.pod, a.apiServer),
	}
	if a.environment, err = source.Of(ctx, a.spec); err != nil {
		return container.Spec{}, err
	}
	a.environment.Default("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	a.environment.Default("HOSTNAME", hostname(a.pod))
	a.environment.Default("HOME", "/root")
	spec := container.Spec{Hostname: hostname(a.pod), Programs: a.programs, Dir: a.spec.WorkingDir, Root: filepath.Join(a.folder, "root")}
	if spec.Args, err = a.command(); err != nil {
		return container.Spec{}, err
	}
	spec.Env = a.environment.Strings()
	if err := secure(&spec, a.pod, a.spec); err != nil {
		return container.Spec{}, err
	}
	a.worker.volumesMutex.Lock()
	spec.Mounts, err = a.worker.volumes.Mounts(a.pod, a.spec, a.environment)
	a.worker.volumesMutex.Unlock()
	if err != nil {
		return container.Spec{}, err
	}
	own, err := a.ownFiles()
	spec.Mounts = append(own, spec.Mounts...)
	return spec, err
}

// command is the container's command line. An image has an entry point when it has one program only.
func (a *attempt) command() ([]string, error) {
	command := a.environment.Expand(a.spec.Command)
	if len(command) == 0 {
		entries, err := os.ReadDir(a.programs)
		if err != nil {
			return nil, fmt.Errorf("list the programs of the image: %w", err)
		}
		if len(entries) == 1 {
			command = []string{entries[0].Name()}
		}
	}
	return append(command, a.environment.Expand(a.spec.Args)...), nil
}

// ownFiles makes the files that each container has beside its volumes.
func (a *attempt) ownFiles() ([]container.Mount, error) {
	if err := os.MkdirAll(filepath.Join(a.folder, "root"), 0o755); err != nil {
		return nil, fmt.Errorf("make the container's folder: %w", err)
	}
	message := filepath.Join(a.folder, "termination-log")
	if err := os.WriteFile(message, nil, 0o666); err != nil {
		return nil, fmt.Errorf("make the file for the termination message: %w", err)
	}
	if err := os.Chmod(message, 0o666); err != nil { // whatever the umask
		return nil, fmt.Errorf("open the file for the termination message to all: %w", err)
	}
	mounts := []container.Mount{{Source: message, Target: a.spec.TerminationMessagePath}}
	for _, name := range []string{hostsFile, resolvFile} {
		source := filepath.Join(a.worker.folder, name)
		if _, err := os.Stat(source); err == nil {
			mounts = append(mounts, container.Mount{Source: source, Target: "/etc/" + name})
		}
	}
	return mounts, nil
}

// capture returns a file whose content goes to the log. The close function is called when the child has the file.
func (a *attempt) capture(stream containerlog.Stream) (*os.File, func(), error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make the pipe for the container's %s: %w", stream, err)
	}
	a.copied.Go(func() {
		if err := a.log.Copy(stream, reader); err != nil {
			a.node.log.Error(err, "Output of a container is lost", "pod", a.pod.Name, "container", a.spec.Name)
		}
		_ = reader.Close() // only read from
	})
	return writer, func() { _ = writer.Close() }, nil
}

// startEnded notes that the container runs, or why not.
func (w *worker) startEnded(ctx context.Context, i *instance, a *attempt, err error) {
	i.starting, i.environment = false, a.environment
	var config errConfig
	var start *container.StartError
	switch {
	case err == nil:
		w.running(ctx, i, a)
	case errors.As(err, &config):
		w.sayError(i, "CreateContainerConfigError", err)
		i.configRetry = w.clock.Now().Add(configRetry)
	case errors.As(err, &start):
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		i.runs++
		now := w.clock.Now()
		i.startedAt, i.log, i.id = now, a.log, newID()
		w.noteExit(i, &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: err.Error()})
		a.endLog(w)
	default:
		w.sayError(i, "CreateContainerError", err)
		i.notBefore = w.clock.Now().Add(max(i.crash.next(), i.crash.base))
	}
	if err != nil && a.log != nil {
		a.endLog(w)
	}
}

func (a *attempt) endLog(w *worker) {
	if err := a.log.Close(); err != nil {
		w.node.log.Error(err, "Could not close a log", "pod", a.pod.Name)
	}
}

func (w *worker) sayError(i *instance, reason string, err error) {
	if i.waiting == nil || i.waiting.Message != err.Error() {
		w.eventf(i, corev1.EventTypeWarning, "Failed", "Error: %v", err)
	}
	i.say(reason, err.Error())
}

func (w *worker) running(ctx context.Context, i *instance, a *attempt) {
	i.process, i.log, i.id = a.process, a.log, newID()
	i.startedAt, i.waiting, i.stopping = w.clock.Now(), nil, false
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

// drain waits until all output is in the log, and closes it.
func (a *attempt) drain() {
	copied := make(chan struct{})
	go func() { a.copied.Wait(); close(copied) }()
	timer := a.clock.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C():
	}
	a.endLog(a.worker)
}

// exited notes the end of a run.
func (w *worker) exited(i *instance, process *container.Process) {
	exit := process.Exit()
	state := &corev1.ContainerStateTerminated{ExitCode: int32(exit.Code), Signal: int32(exit.Signal), Reason: "Error"}
	if exit.Code == 0 {
		state.Reason = "Completed"
	}
	state.Message = w.terminationMessage(i, exit.Code)
	w.noteExit(i, state)
}

func (w *worker) noteExit(i *instance, state *corev1.ContainerStateTerminated) {
	now := w.clock.Now()
	state.StartedAt, state.FinishedAt = metav1.NewTime(i.startedAt).Rfc3339Copy(), metav1.NewTime(now).Rfc3339Copy()
	state.ContainerID = i.containerID()
	i.endedBefore = i.ended
	i.process, i.stopping, i.started, i.ready, i.ended, i.waiting = nil, false, false, false, state, nil
	if i.endProbes != nil {
		i.endProbes()
		i.endProbes = nil
	}
	if now.Sub(i.startedAt) >= 2*i.crash.max {
		i.crash.reset()
	}
	i.notBefore = now.Add(i.crash.next())
}

// sayCrashLoop says that the container waits before it is started again.
func (w *worker) sayCrashLoop(i *instance) {
	if i.ended == nil || i.waiting != nil && i.waiting.Reason == "CrashLoopBackOff" {
		return
	}
	delay := i.crash.delay
	w.eventf(i, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
		i.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID)
	i.say("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		delay, i.spec.Name, w.pod.Name, w.pod.Namespace, w.pod.UID))
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
