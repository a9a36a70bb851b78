package podworker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/containerlog"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/isolation"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podname"
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
	sandbox  *sandbox // only for its folder, objects, volumes and their mutex

	environment *podenv.Environment
	log         *containerlog.Log
	process     *container.Process
	copied      sync.WaitGroup // of the output
}

func logPath(folder string, run int) string { return filepath.Join(folder, strconv.Itoa(run)+".log") }

// forgetOldLogs keeps the log of the run before, for "kubectl logs --previous".
func (a *attempt) forgetOldLogs() {
	if err := containerlog.Closed(logPath(a.folder, a.run-2)).Remove(); err != nil {
		a.Log.Error(err, "Could not remove an old log", "pod", a.pod.Name)
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

// drain waits until all output is in the log, and closes it.
func (a *attempt) drain() {
	copied := make(chan struct{})
	go func() { a.copied.Wait(); close(copied) }()
	timer := a.Clock.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C():
	}
	a.endLog()
}

func (a *attempt) endLog() {
	if err := a.log.Close(); err != nil {
		a.Log.Error(err, "Could not close a log", "pod", a.pod.Name)
	}
}

// configure works out all that the container needs.
func (a *attempt) configure(ctx context.Context) (container.Spec, error) {
	services, err := a.servicesOf(a.pod.Namespace)
	if err != nil {
		return container.Spec{}, err
	}
	source := podenv.Source{
		Objects: a.sandbox.objects, Pod: a.pod, Node: a.Capacity,
		Services: podenv.Services(services, a.pod, a.APIServer),
	}
	if a.environment, err = source.Of(ctx, a.spec); err != nil {
		return container.Spec{}, err
	}
	a.environment.Default("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	a.environment.Default("HOSTNAME", podname.Hostname(a.pod))
	a.environment.Default("GODEBUG", process.GoDebug(""))
	spec := container.Spec{Hostname: podname.Hostname(a.pod), Programs: a.programs, Dir: a.spec.WorkingDir,
		Root: filepath.Join(a.folder, "root")}
	if err := isolation.Apply(&spec, a.pod, a.spec); err != nil {
		return container.Spec{}, err
	}
	home := "/root"
	if spec.User.UID != 0 {
		home = "/" // as for any user whom the image does not know
	}
	a.environment.Default("HOME", home)
	if spec.Args, err = a.command(); err != nil {
		return container.Spec{}, err
	}
	spec.Env = a.environment.Strings()
	a.sandbox.volumesMutex.Lock()
	spec.Mounts, err = a.sandbox.volumes.Mounts(a.pod, a.spec, a.environment)
	a.sandbox.volumesMutex.Unlock()
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
	for _, name := range []string{podname.HostsFile, podname.ResolvFile} {
		source := filepath.Join(a.sandbox.folder, name)
		if _, err := os.Stat(source); err == nil {
			mounts = append(mounts, container.Mount{Source: source, Target: "/etc/" + name})
		}
	}
	return mounts, nil
}
