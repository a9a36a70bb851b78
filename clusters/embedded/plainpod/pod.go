// Package plainpod runs the containers of pods as plain processes of this machine: there is no API server that knows
// the pods, no image and no isolation. Static pods of a node that has not joined any cluster are the model.
//
// It knows the volumes that control planes use: Secrets, emptyDirs, and volume claims. It asks no probes and writes no
// status.
package plainpod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/backoff"
)

// Machine is where pods run.
type Machine struct {
	Runner *process.Runner
	// Dir holds secrets and volumes. Nobody but its owner may enter it.
	Dir string
	// Logs of programs are files whose paths begin so.
	Logs string
	// Temporary holds emptyDirs. The path of a unix socket has at most 107 bytes, so it must be short.
	Temporary string
	// Address is that of all pods.
	Address netip.Addr
	// Command makes the path and the arguments of the program that a container runs.
	Command func(image string, command []string) (path string, args []string, err error)
	// Env is what every process gets.
	Env   []string
	Clock clock.Clock
	Log   logr.Logger
}

// Pod is what runs: its Secrets by their names, and its claims by the names of their volumes.
type Pod struct {
	Name    string
	Spec    corev1.PodSpec
	Secrets func(name string) (map[string][]byte, error)
	Claims  []string
	// Beside are Secrets that no container mounts, for people who ask the pod.
	Beside []string
}

// The first restart of a program comes after restartBase, and each one after that later, up to restartMax. One that has
// run for that long begins anew.
const (
	restartBase = 500 * time.Millisecond
	restartMax  = 10 * time.Second
)

// stopGrace is what a program gets between SIGTERM and SIGKILL, unless the pod says more or less.
const stopGrace = 10 * time.Second

// Run runs a pod until ctx is done, and returns when none of its processes is left. The init containers come first, one
// after the other. A program that ends is started again, later each time that it ends soon.
func (m *Machine) Run(ctx context.Context, pod Pod) error {
	mounts, err := m.mount(pod)
	if err != nil {
		return fmt.Errorf("prepare pod %q: %w", pod.Name, err)
	}
	for _, container := range pod.Spec.InitContainers {
		if err := m.keep(ctx, pod, container, mounts, true); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, container := range pod.Spec.Containers {
		group.Go(func() error { return m.keep(ctx, pod, container, mounts, false) })
	}
	return group.Wait()
}

// keep runs a container until ctx is done or, once is wanted, until it has succeeded.
func (m *Machine) keep(ctx context.Context, pod Pod, container corev1.Container, mounts []mount, once bool) error {
	spec, err := m.spec(pod, container, mounts)
	if err != nil {
		return err
	}
	again := backoff.Delay{Base: restartBase, Max: restartMax, Failed: true}
	for ctx.Err() == nil {
		began := m.Clock.Now()
		p, err := m.Runner.Start(spec)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return m.stop(pod, p)
		case <-p.Done():
		}
		if once && p.Err() == nil {
			return nil
		}
		if m.Clock.Since(began) > restartMax {
			again.Reset()
		}
		pause := again.Next()
		m.Log.Info("A program has ended, and is started again", "program", spec.Name, "after", pause, "reason",
			p.Ended().Error())
		select {
		case <-ctx.Done():
		case <-m.Clock.After(pause):
		}
	}
	if once {
		return context.Cause(ctx)
	}
	return nil
}

func (m *Machine) stop(pod Pod, p *process.Process) error {
	grace := stopGrace
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	return p.Stop(context.Background(), grace)
}

func (m *Machine) spec(pod Pod, container corev1.Container, mounts []mount) (process.Spec, error) {
	if len(container.Command) == 0 {
		return process.Spec{}, fmt.Errorf("run container %q of pod %q: it names no command", container.Name, pod.Name)
	}
	words := slices.Concat(container.Command, container.Args)
	for i, word := range words {
		word = strings.ReplaceAll(word, "$(POD_IP)", m.Address.String())
		for _, mount := range mounts {
			word = strings.ReplaceAll(word, mount.inside, mount.folder)
		}
		words[i] = word
	}
	name := pod.Name + "-" + container.Name
	if len(pod.Spec.Containers) == 1 {
		name = pod.Name
	}
	path, args, err := m.Command(container.Image, words)
	if err != nil {
		return process.Spec{}, fmt.Errorf("run container %q of pod %q: %w", container.Name, pod.Name, err)
	}
	return process.Spec{Name: name, Path: path, Args: args, Env: m.Env, Dir: m.Dir,
		Log: m.Logs + name + ".log"}, nil
}

// mount says where on this machine a path of the containers is.
type mount struct{ inside, folder string }

// mount makes the folders of the volumes of a pod. All containers of a pod mount a volume at the same path.
func (m *Machine) mount(pod Pod) ([]mount, error) {
	folders := map[string]string{}
	for _, claim := range pod.Claims {
		folders[claim] = filepath.Join(m.Dir, "volumes", pod.Name, claim)
	}
	for _, name := range pod.Beside {
		if err := writeSecret(m.secret(name), name, pod.Secrets); err != nil {
			return nil, err
		}
	}
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.Secret != nil:
			folder := m.secret(volume.Secret.SecretName)
			if err := writeSecret(folder, volume.Secret.SecretName, pod.Secrets); err != nil {
				return nil, err
			}
			folders[volume.Name] = folder
		case volume.EmptyDir != nil:
			folders[volume.Name] = filepath.Join(m.Temporary, volume.Name)
		default:
			return nil, fmt.Errorf("volume %q is of no kind that is known here", volume.Name)
		}
	}
	var mounts []mount
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, one := range container.VolumeMounts {
			folder, known := folders[one.Name]
			if !known {
				return nil, fmt.Errorf("container %q mounts %q, which is no volume of the pod", container.Name, one.Name)
			}
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return nil, fmt.Errorf("make the folder of volume %q: %w", one.Name, err)
			}
			mounts = append(mounts, mount{one.MountPath, folder})
		}
	}
	// A path that is below another one is known first.
	slices.SortFunc(mounts, func(a, b mount) int {
		return cmp.Or(cmp.Compare(len(b.inside), len(a.inside)), strings.Compare(a.inside, b.inside))
	})
	return slices.Compact(mounts), nil
}

// secret is the folder of a Secret's files.
func (m *Machine) secret(name string) string { return SecretFolder(m.Dir, name) }

// SecretFolder is where a machine with this folder has the files of a Secret.
func SecretFolder(dir, name string) string { return filepath.Join(dir, "secrets", name) }

func writeSecret(folder, name string, secrets func(string) (map[string][]byte, error)) error {
	data, err := secrets(name)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	var errs []error
	for key, content := range data {
		if err == nil {
			errs = append(errs, os.WriteFile(filepath.Join(folder, key), content, 0o600))
		}
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("write the files of secret %q: %w", name, err)
	}
	return nil
}
