package podworker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/isolation"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podenv"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podname"
)

// addressed is the pod with the addresses that its variables may show before the API server has them.
func (w *Worker) addressed() *corev1.Pod {
	pod := w.pod.DeepCopy()
	pod.Status.PodIP, pod.Status.HostIP = w.ip, w.Address.String()
	return pod
}

func (w *Worker) containerFolder(name string) string {
	return filepath.Join(w.folder, "containers", name)
}

// configure works out all that the container needs.
func (a *attempt) configure(ctx context.Context) (container.Spec, error) {
	services, err := a.servicesOf(a.pod.Namespace)
	if err != nil {
		return container.Spec{}, err
	}
	source := podenv.Source{
		Objects: a.worker.objects, Pod: a.pod, Node: a.Capacity,
		Services: podenv.Services(services, a.pod, a.APIServer),
	}
	if a.environment, err = source.Of(ctx, a.spec); err != nil {
		return container.Spec{}, err
	}
	a.environment.Default("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	a.environment.Default("HOSTNAME", podname.Hostname(a.pod))
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
	for _, name := range []string{podname.HostsFile, podname.ResolvFile} {
		source := filepath.Join(a.worker.folder, name)
		if _, err := os.Stat(source); err == nil {
			mounts = append(mounts, container.Mount{Source: source, Target: "/etc/" + name})
		}
	}
	return mounts, nil
}
