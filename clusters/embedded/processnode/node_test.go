package processnode_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/transplant-sim/transplant/clusters/clustertest"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
)

// TestPods runs the pods that every backend must run alike.
func TestPods(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 241, "--image="+clustertest.Image+"="+clustertest.BuildTestPod(t))
	clustertest.Run(t, clustertest.Backend{Config: c.Config})
}

// TestNode is about what only a process node does. Its parts need the node for themselves, one after the other.
func TestNode(t *testing.T) {
	t.Parallel()
	programs := clustertest.BuildTestPod(t)
	c := startCluster(t, 242, "--image="+clustertest.Image+"="+programs)
	for _, part := range []struct {
		name string
		test func(*testing.T, *cluster)
	}{
		{"node object", nodeObject},
		{"refusals", refusals},
		{"load balancer", loadBalancer},
		{"forced deletion", forcedDeletion},
		{"clients without a certificate", clientsWithoutCertificate},
		{"node is killed and returns", nodeIsKilledAndReturns},
		{"API server is away", apiServerIsAway},
		{"node is asked to end", nodeIsAskedToEnd},
		{"without root", func(t *testing.T, c *cluster) { withoutRoot(t, c, programs) }},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, c) }) {
			return // the next one would fail for this one's reason
		}
	}
}

func nodeObject(t *testing.T, c *cluster) {
	await(t, "the node to be ready", func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, "node", metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		pods := node.Status.Allocatable[corev1.ResourcePods]
		if !ready || len(node.Spec.Taints) > 0 || pods.Value() < 110 || node.Labels[corev1.LabelHostname] != "node" ||
			!strings.HasPrefix(node.Status.NodeInfo.KubeletVersion, "v1.") {
			return fmt.Errorf("the node is %+v", node)
		}
		lease, err := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, "node", metav1.GetOptions{})
		if err == nil && lease.Spec.RenewTime == nil {
			err = errors.New("the lease was never renewed")
		}
		return err
	})
}

func refusals(t *testing.T, c *cluster) {
	yes := true
	secure := func(context corev1.SecurityContext) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Containers[0].SecurityContext = &context }
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"privileged": {secure(corev1.SecurityContext{Privileged: &yes}),
			`container "c": privileged containers are not available`},
		"capability": {secure(
			corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}),
			"capability NET_ADMIN is not available"},
		"host-pid": {func(pod *corev1.Pod) { pod.Spec.HostPID = true }, "hostPID and hostIPC are not available"},
		"shared-pids": {func(pod *corev1.Pod) {
			pod.Spec.ShareProcessNamespace = &yes
		}, "shareProcessNamespace is not available"},
		"host-port": {func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
		}, "hostPort 8080 is available with hostNetwork only"},
		"network-store": {func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}}}
		}, `volume "v" is of a kind that this node does not have`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.create(t, name, test.change, "sleep")
			pod := c.awaitPod(t, name, func(pod *corev1.Pod) error {
				if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "UnsupportedPod" {
					return errors.New("want it failed")
				}
				return nil
			})
			if !strings.Contains(pod.Status.Message, test.want) {
				t.Errorf("got message %q, want %q", pod.Status.Message, test.want)
			}
			await(t, "the event", func(ctx context.Context) error {
				events, err := c.client.CoreV1().Events("default").List(ctx,
					metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=UnsupportedPod"})
				if err == nil && (len(events.Items) == 0 || !strings.Contains(events.Items[0].Message, test.want)) {
					err = fmt.Errorf("got %v", events.Items)
				}
				return err
			})
		})
	}
}

func loadBalancer(t *testing.T, c *cluster) {
	c.create(t, "server", nil, "serve", "8080")
	c.awaitPod(t, "server", isReady(0))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "server"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "server"},
		Ports: []corev1.ServicePort{{Port: 9443, TargetPort: intstr.FromInt32(8080)}},
	}}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the load balancer's address", func(ctx context.Context) (err error) {
		service, err = c.client.CoreV1().Services("default").Get(ctx, "server", metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) != 1 {
			err = errors.New("none yet")
		}
		return err
	})
	ip := service.Status.LoadBalancer.Ingress[0].IP
	if !strings.HasPrefix(ip, "127.242.") {
		t.Errorf("got the address %s", ip)
	}
	fronts := []string{ip + ":9443", service.Spec.ClusterIP + ":9443",
		fmt.Sprintf("%s:%d", c.Cluster.Address, service.Spec.Ports[0].NodePort)}
	if os.Geteuid() == 0 { // port 443 is for root only
		await(t, "an answer of service default/kubernetes", func(ctx context.Context) error {
			connection, err := new(tls.Dialer).DialContext(ctx, "tcp4", "127.242.128.1:443")
			if err == nil {
				return connection.Close()
			}
			if refused := new(tls.CertificateVerificationError); errors.As(err, &refused) {
				return nil // TLS is spoken there
			}
			return err
		})
	}
	for _, front := range fronts {
		await(t, "an answer from "+front, func(ctx context.Context) error { return answers(ctx, front, "server") })
	}
}

// answers wants an HTTP server to say its name.
func answers(ctx context.Context, address, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && strings.TrimSpace(string(content)) != name {
		err = fmt.Errorf("got %q, want %q", content, name)
	}
	return err
}

// forcedDeletion frees a pod's name at once; what has it next must not wait for the one before.
func forcedDeletion(t *testing.T, c *cluster) {
	hour := int64(3600)
	longGrace := func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &hour }
	c.create(t, "forced", longGrace, "print", "first", "--", "ignore-term")
	c.awaitLog(t, "forced", corev1.PodLogOptions{}, "ignoring SIGTERM")
	id := c.processOf(t, "forced")
	now := int64(0)
	if err := c.client.CoreV1().Pods("default").Delete(t.Context(), "forced",
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	c.create(t, "forced", nil, "print", "second", "--", "sleep")
	c.awaitPod(t, "forced", isReady(0))
	c.awaitLog(t, "forced", corev1.PodLogOptions{}, "second")
	await(t, "the end of the first pod", func(context.Context) error {
		if id.Alive() {
			return errors.New("it is alive")
		}
		return nil
	})
}

func clientsWithoutCertificate(t *testing.T, c *cluster) {
	if _, err := c.nodeClient(t).Get(c.nodeURL() + "/pods"); err == nil || !strings.Contains(err.Error(),
		"certificate required") {
		t.Errorf("without a certificate: got %v", err)
	}
	for name, want := range map[string]int{"node": http.StatusForbidden, "kubelet-client": http.StatusOK} {
		response, err := c.nodeClient(t, name).Get(c.nodeURL() + "/pods")
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != want {
			t.Errorf("as %s: got %s, want %d", name, response.Status, want)
		}
	}
}

func nodeIsKilledAndReturns(t *testing.T, c *cluster) {
	withFolder := func(policy corev1.RestartPolicy) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.RestartPolicy = policy
			pod.Spec.Volumes = []corev1.Volume{{Name: "v",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
		}
	}
	c.create(t, "always", withFolder(corev1.RestartPolicyAlways), "count", "/v/n", "--", "cat", "/v/n", "--", "serve",
		"8080")
	c.create(t, "never", withFolder(corev1.RestartPolicyNever), "sleep")
	c.create(t, "done", withFolder(corev1.RestartPolicyOnFailure), "print", "once")
	earlier := c.awaitPod(t, "always", isReady(0))
	c.awaitPod(t, "never", isReady(0))
	c.awaitPod(t, "done", hasPhase(corev1.PodSucceeded))
	var ids []process.ID
	for _, p := range c.processes(t) {
		id, err := process.Find(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if len(ids) < 3 {
		t.Fatalf("only %d processes run", len(ids))
	}
	if err := c.agent.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "the pods' processes to be gone", func(context.Context) error {
		for _, id := range ids {
			if id.Alive() {
				return fmt.Errorf("process %d is alive", id.PID)
			}
		}
		return nil
	})
	c.startNode(t)
	now := c.awaitPod(t, "always", isReady(1))
	if last := now.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.Reason != "Unknown" ||
		last.ExitCode != 255 {
		t.Errorf("the end of the run before is %+v", last)
	}
	if now.Status.PodIP != earlier.Status.PodIP {
		t.Errorf("the address was %s and is %s", earlier.Status.PodIP, now.Status.PodIP)
	}
	c.awaitLog(t, "always", corev1.PodLogOptions{}, "count 2\n2\n")
	c.awaitLog(t, "always", corev1.PodLogOptions{Previous: true}, "count 1\n1\n")
	c.awaitPod(t, "never", hasPhase(corev1.PodFailed))
	done := c.awaitPod(t, "done", hasPhase(corev1.PodSucceeded))
	if n := done.Status.ContainerStatuses[0].RestartCount; n != 0 {
		t.Errorf("a pod that had succeeded has restarted %d times", n)
	}
}

func hasPhase(phase corev1.PodPhase) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		if pod.Status.Phase != phase {
			return fmt.Errorf("want phase %s", phase)
		}
		return nil
	}
}

// apiServerIsAway has a container fail while the API server can neither be read nor written.
func apiServerIsAway(t *testing.T, c *cluster) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "away"}, StringData: map[string]string{"a": "kept"}}
	if _, err := c.client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(t, "away", func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env,
			corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "away"}, Key: "a"},
			}})
	}, "env", "A", "--", "env", "GODEBUG", "--", "serve", "8080")
	pod := c.awaitPod(t, "away", isReady(0))
	front := pod.Status.PodIP + ":8080"
	await(t, "an answer of the pod", func(ctx context.Context) error { return answers(ctx, front, "away") })
	id := c.processOf(t, "away")
	if err := c.apiServer.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the container", func(context.Context) error {
		if id.Alive() {
			return errors.New("it is alive")
		}
		return nil
	})
	await(t, "an answer of the pod's next run", func(ctx context.Context) error { return answers(ctx, front, "away") })
	var err error
	if c.apiServer, err = c.runner.Start(c.apiServer.Spec()); err != nil {
		t.Fatal(err)
	}
	c.awaitPod(t, "away", isReady(1))
	c.awaitLog(t, "away", corev1.PodLogOptions{}, "A=kept\nGODEBUG=tlsmlkem=0\n")
}

// nodeIsAskedToEnd has the node end by itself, and its pods with it.
func nodeIsAskedToEnd(t *testing.T, c *cluster) {
	id := c.processOf(t, "always")
	if err := c.agent.Stop(t.Context(), bound); err != nil {
		t.Fatal(err)
	}
	if err := c.agent.Err(); err != nil {
		t.Errorf("the node has ended with %v", err)
	}
	await(t, "the pod to end with its node", func(context.Context) error {
		if id.Alive() {
			return errors.New("it is alive")
		}
		return nil
	})
	c.startNode(t)
	c.awaitPod(t, "always", isReady(2))
}

// withoutRoot has an ordinary user run the node. Where the tests themselves are not root, everything above has shown
// it.
func withoutRoot(t *testing.T, c *cluster, programs string) {
	if os.Geteuid() != 0 {
		return
	}
	if err := c.agent.Kill(); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	folder, err := os.MkdirTemp("", "processnode-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, executable, filepath.Join(folder, "node"))
	copyFile(t, filepath.Join(programs, "testpod"), filepath.Join(folder, "programs", "testpod"))
	if err := os.CopyFS(filepath.Join(folder, "pki"), os.DirFS(filepath.Join(c.Cluster.Dir, "pki"))); err != nil {
		t.Fatal(err)
	}
	copyFile(t, c.Cluster.Kubeconfig("node"), filepath.Join(folder, "node.kubeconfig"))
	err = filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--reuid=65534", "--regid=65534", "--clear-groups", filepath.Join(folder, "node")}
	args = append(args, c.args(242, folder, filepath.Join(folder, "root"))...)
	c.spec.Path, c.spec.Args = "/usr/bin/setpriv",
		append(args, "--image="+clustertest.Image+"="+filepath.Join(folder, "programs"))
	c.startNode(t)
	uid := int64(1000)
	c.create(t, "rootless", func(pod *corev1.Pod) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &uid}
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 5,
			ProbeHandler: corev1.ProbeHandler{
				Exec: &corev1.ExecAction{Command: []string{"testpod", "exists", "/tmp/here"}},
			}}
	}, "id", "--", "whoami", "--", "write", "/tmp/here", "--", "serve", "8080")
	pod := c.awaitPod(t, "rootless", isReady(0))
	await(t, "an answer of the pod", func(ctx context.Context) error {
		return answers(ctx, pod.Status.PodIP+":8080", "rootless")
	})
	c.awaitLog(t, "rootless", corev1.PodLogOptions{}, "uid=1000 gid=0", "status 201")
	id := c.processOf(t, "rootless")
	if err := c.agent.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "the pod to end with its node", func(context.Context) error {
		if id.Alive() {
			return errors.New("it is alive")
		}
		return nil
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := executabletest.Write(to, content); err != nil {
		t.Fatal(err)
	}
}
