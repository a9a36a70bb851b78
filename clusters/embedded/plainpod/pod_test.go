package plainpod_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/plainpod"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

func newMachine(t *testing.T) *plainpod.Machine {
	t.Helper()
	runner := process.NewRunner()
	t.Cleanup(func() { _ = runner.Close() })
	dir := t.TempDir()
	return &plainpod.Machine{Runner: runner, Dir: dir, Logs: dir + "/logs-", Temporary: t.TempDir(),
		Address: netip.MustParseAddr("127.0.0.9"), Clock: clock.RealClock{}, Log: logr.Discard(),
		Command: func(_ string, command []string) (string, []string, error) { return "/bin/sh", command[1:], nil }}
}

func shell(name, script string) corev1.Container {
	return corev1.Container{Name: name, Command: []string{"sh", "-c", script}, VolumeMounts: []corev1.VolumeMount{
		{Name: "keys", MountPath: "/srv/keys"}, {Name: "data", MountPath: "/var/data"},
		{Name: "run", MountPath: "/var/data/run"},
	}}
}

func pod(script string, initial ...corev1.Container) plainpod.Pod {
	return plainpod.Pod{Name: "one", Claims: []string{"data"}, Spec: corev1.PodSpec{
		InitContainers: initial, Containers: []corev1.Container{shell("main", script)},
		Volumes: []corev1.Volume{
			{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "k"}}},
			{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
		Secrets: func(name string) (map[string][]byte, error) {
			return map[string][]byte{"key": []byte("secret of " + name)}, nil
		},
	}
}

// await a file that begins with this content: a program that is started again and again writes more and more.
func await(t *testing.T, path, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		content, err := os.ReadFile(path)
		if strings.HasPrefix(string(content), want+"\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %q, %v; want %q", path, content, err, want)
		}
	}
}

// Init containers come first, and again until they have succeeded; paths and the address are those of this machine; and
// nothing is left when the pod is ended.
func TestRun_PodWithVolumes_RunsUntilItIsEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	begin := shell("begin",
		"test -e /var/data/tried && cp /srv/keys/key /var/data/copy || { touch /var/data/tried; false; }")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- m.Run(ctx, pod("echo $(cat /var/data/copy) at $(POD_IP) > /var/data/run/out; exec sleep 600", begin))
	}()
	await(t, filepath.Join(m.Temporary, "run", "out"), "secret of k at 127.0.0.9")
	if info, err := os.Stat(filepath.Join(m.Dir, "secrets", "k", "key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the secret: %v, %v", info, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("ended by who has asked for it: %v", err)
	}
	if left := m.Runner.Running(); len(left) > 0 {
		t.Errorf("%s still runs", left[0].Name())
	}
}

func TestRun_ProgramEnds_IsStartedAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, pod("echo again >> /var/data/out")) }()
	await(t, filepath.Join(m.Dir, "volumes", "one", "data", "out"), "again\nagain")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What a machine cannot run as it is meant to be is an error, and runs not at all.
func TestRun_UnknownVolume_IsAnError(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plainpod.Pod){
		"a volume of another kind": func(p *plainpod.Pod) {
			p.Spec.Volumes[1].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		},
		"a mount of no volume": func(p *plainpod.Pod) { p.Claims = nil },
		"no command":           func(p *plainpod.Pod) { p.Spec.Containers[0].Command = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pod("true")
			change(&p)
			if err := newMachine(t).Run(t.Context(), p); err == nil {
				t.Error("there is no error")
			}
		})
	}
}
