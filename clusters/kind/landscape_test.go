//go:build docker

package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/clustertest"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/clusters/kubeconfig"
)

// nodeImage is the one that the environment names for the tests, or the published one.
func nodeImage() string { return cmp.Or(os.Getenv(NodeImageVariable), defaults.Image) }

// start brings a landscape up that ends with the test.
func start(t *testing.T, options Options) *Landscape {
	t.Helper()
	if options.Dir == "" {
		options.Dir = filepath.Join(t.TempDir(), "landscape")
	}
	options.NodeImage = nodeImage()
	options.Progress = func(subject, what string) { t.Logf("%s: %s", subject, what) }
	l, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("stop the landscape: %v", err)
		}
		if left, err := docker.Containers(ctx, prefix(l.dir.Path, l.dir.Name)); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return l
}

// TestContract has every case of the backends' contract pass on a node of kind.
func TestContract(t *testing.T) {
	image := docker.Image{Name: clustertest.Image, Programs: map[string]string{
		"testpod": filepath.Join(clustertest.BuildTestPod(t), "testpod"),
	}}
	l := start(t, Options{Name: "contract", Seeds: []string{}, Images: []docker.Image{image}})
	garden, err := l.Cluster(GardenName)
	if err != nil {
		t.Fatal(err)
	}
	config, err := garden.Connect(clusters.Observer)
	if err != nil {
		t.Fatal(err)
	}
	clustertest.Run(t, clustertest.Backend{Config: config})
}

// TestAbilities loses, returns, freezes and thaws a seed of two, while the others go on.
func TestAbilities(t *testing.T) {
	controlPlane, err := binary.Ensure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, Options{Name: "abilities", Images: []docker.Image{{
		Name: toolImage, User: "65532:65532", Programs: map[string]string{"kubectl": controlPlane},
	}}})
	t.Logf("three clusters took %s", l.Took())
	seed := l.clusters[1]
	client := observe(t, seed)
	reachFromPod(t, l, seed, l.clusters[0])
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mark", Namespace: "default"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), mark, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	if err := seed.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := look(t.Context(), client); err == nil {
		t.Error("a frozen cluster has answered")
	}
	if err := seed.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, client)

	if err := seed.Lose(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := look(t.Context(), client); err == nil {
		t.Error("a lost cluster has answered")
	}
	for _, other := range []*Cluster{l.clusters[0], l.clusters[2]} {
		if err := look(t.Context(), observe(t, other)); err != nil {
			t.Errorf("cluster %q: %v", other.Name(), err)
		}
	}
	if err := seed.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "mark", metav1.GetOptions{}); err != nil {
		t.Errorf("a cluster that returned has forgotten: %v", err)
	}

	if err := errors.Join(seed.Lose(t.Context(), true), seed.Return(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err = observe(t, seed).CoreV1().ConfigMaps("default").Get(t.Context(), "mark", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), `"mark" not found`) {
		t.Errorf("a cluster that was wiped remembers: %v", err)
	}
}

// TestDownRemovesItsOwnOnly finds what a landscape has left, and leaves alone what another has.
func TestDownRemovesItsOwnOnly(t *testing.T) {
	home := t.TempDir()
	mine, other := rundir.At("mine", filepath.Join(home, "mine")), rundir.At("mine", filepath.Join(home, "other"))
	for _, dir := range []rundir.Dir{mine, other} {
		name := nodeName(prefix(dir.Path, dir.Name) + "a")
		if _, err := docker.Run(t.Context(), "create", "--name", name, nodeImage()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = docker.Remove(context.Background(), name) }) // it may be gone
	}
	lock, err := mine.TakeLock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), mine); !errors.Is(err, rundir.ErrInUse) {
		t.Errorf("while the owner lives: got %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if got, err := Down(t.Context(), mine); err != nil || got != want {
			t.Errorf("removed %d, %v; want %d", got, err, want)
		}
	}
	if left, err := docker.Containers(t.Context(), prefix(other.Path, other.Name)); err != nil || len(left) != 1 {
		t.Errorf("of the other landscape there is %v, %v", left, err)
	}
}

// TestKilledStarter kills the process that has started a landscape, and finds nothing left of it.
func TestKilledStarter(t *testing.T) {
	if dir := os.Getenv("TRANSPLANT_TEST_STARTER"); dir != "" {
		options := Options{Name: "killed", Dir: dir, Seeds: []string{}, NodeImage: nodeImage()}
		l, err := Start(t.Context(), options)
		fmt.Println("started", err == nil, err, l != nil)
		<-t.Context().Done()
		return
	}
	dir := filepath.Join(t.TempDir(), "landscape")
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledStarter$")
	command.Env = append(os.Environ(), "TRANSPLANT_TEST_STARTER="+dir)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	name := prefix(dir, "killed")
	poll(t, "the node", func(ctx context.Context) error {
		found, err := docker.Containers(ctx, name)
		if err == nil && len(found) == 0 {
			err = errors.New("it is not there")
		}
		return err
	})
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed
	poll(t, "the end of the node", func(ctx context.Context) error {
		found, err := docker.Containers(ctx, name)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("found %v", found)
		}
		return err
	})
}

// toolImage has kubectl.
const toolImage = "transplant.dev/tools:test"

// reachFromPod has a pod of one cluster ask the API server of another who it is, with a kubeconfig of its own.
func reachFromPod(t *testing.T, l *Landscape, from, to *Cluster) {
	t.Helper()
	authority, err := to.CA()
	if err != nil {
		t.Fatal(err)
	}
	observer, err := to.Connect(clusters.Observer)
	if err != nil {
		t.Fatal(err)
	}
	content, err := kubeconfig.OfAccount(t.Context(), observer, to.Name(), "default/default",
		clientcmdapi.Cluster{Server: "https://" + to.Node() + ":6443", CertificateAuthorityData: authority})
	if err != nil {
		t.Fatal(err)
	}
	client := observe(t, from)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kubeconfig"},
		Data: map[string][]byte{"kubeconfig": content}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "whoami"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "c", Image: toolImage, ImagePullPolicy: corev1.PullNever,
			Command:      []string{"kubectl", "--kubeconfig=/k/kubeconfig", "auth", "whoami"},
			VolumeMounts: []corev1.VolumeMount{{Name: "k", MountPath: "/k"}},
		}},
		Volumes: []corev1.Volume{{Name: "k",
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "kubeconfig"}}}},
	}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	poll(t, "the pod's answer", func(ctx context.Context) error {
		log, err := client.CoreV1().Pods("default").GetLogs("whoami", &corev1.PodLogOptions{}).DoRaw(ctx)
		if err == nil && !strings.Contains(string(log), "system:serviceaccount:default:default") {
			err = fmt.Errorf("its log is %q", log)
		}
		return err
	})
}

func observe(t *testing.T, c *Cluster) kubernetes.Interface {
	t.Helper()
	config, err := c.Connect(clusters.Observer)
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = 3 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func look(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	return err
}

func awaitAnswer(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	poll(t, "an answer", func(ctx context.Context) error { return look(ctx, client) })
}

// poll looks until there is no mismatch, and reports the last one when that takes too long.
func poll(t *testing.T, what string, look func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			last = look(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("wait for %s: %v: %v", what, err, last)
	}
}

// TestCarry reaches a server by a shell in a node, more than once, and leaves nothing running there.
func TestCarry(t *testing.T) {
	host, err := gateway(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "got %d bytes", size)
		})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	l := &Landscape{}
	c := &Cluster{name: "a", full: "transplant-carry-test", landscape: l}
	l.clusters = []*Cluster{c}
	_, err = docker.Run(t.Context(), "run", "--detach", "--name", c.Node(), "--network", network, "--entrypoint", "sleep",
		nodeImage(), "300")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = docker.Remove(context.Background(), c.Node()) }) // nothing more to be done about it
	pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: host}}
	at, err := l.Reach(t.Context(), "a", pod, listener.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for range 2 {
		response, err := client.Post("http://"+at, "text/plain", strings.NewReader(strings.Repeat("abc\x00", 500_000)))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(said) != "got 2000000 bytes" {
			t.Errorf("it says %q, %v", said, err)
		}
	}
	l.hatches.Close()
	poll(t, "the shells' end", func(ctx context.Context) error {
		running, err := docker.Run(ctx, "top", c.Node(), "-eo", "pid,args")
		if err == nil && strings.Contains(running, "cat") {
			err = fmt.Errorf("there is %q", running)
		}
		return err
	})
}
