package processnode_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/clustertest"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/processnode/podworker"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

const (
	bound = 60 * time.Second
	poll  = 50 * time.Millisecond
)

// cluster is a whole embedded cluster with its process node.
type cluster struct {
	*apiservertest.Server
	client    kubernetes.Interface
	runner    *process.Runner
	spec      process.Spec // of the process node
	agent     *process.Process
	apiServer *process.Process // that runs now
}

// startCluster starts a cluster whose slice of 127.0.0.0/8 is the test's own.
func startCluster(t *testing.T, slice byte, flags ...string) *cluster {
	t.Helper()
	services := "--service-cluster-ip-range=" + part(slice, 128).String()
	server := apiservertest.StartServer(t, apiservertest.Options{Flags: []string{services}})
	c := &cluster{Server: server, client: kubernetes.NewForConfigOrDie(server.Config), runner: process.NewRunner(),
		apiServer: server.APIServer}
	t.Cleanup(func() { c.stop(t) })
	for _, spec := range []process.Spec{server.Cluster.ControllerManager(), server.Cluster.Scheduler()} {
		if _, err := c.runner.Start(spec); err != nil {
			t.Fatalf("start %s: %v", spec.Name, err)
		}
	}
	c.spec = process.Spec{
		Name: "node", Path: "/proc/self/exe", Env: program.Env(), Log: server.Cluster.Log("processnode"),
		Args: append(c.args(slice, server.Cluster.Dir, filepath.Join(server.Cluster.Dir, "node")), flags...),
	}
	c.startNode(t)
	return c
}

// part is one of the four quarters of a cluster's slice.
func part(slice, third byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, slice, third, 0}), 18)
}

// args are the flags of a process node whose keys are in one folder and whose root is another.
func (c *cluster) args(slice byte, keys, root string) []string {
	files := c.Cluster
	files.Dir = keys
	pki := files.PKI()
	return []string{
		"processnode", "--node-name=node", "--kubeconfig=" + files.Kubeconfig(program.Node),
		"--address=" + c.Cluster.Address.String(),
		"--pod-cidr=" + part(slice, 64).String(), "--service-cidr=" + part(slice, 128).String(), "--load-balancer-cidr=" +
			part(slice, 192).String(),
		"--root-dir=" + root, "--client-ca=" + pki.Certificate("ca"), "--serving-cert=" + pki.Certificate("node"),
		"--serving-key=" + pki.Key("node"),
	}
}

func (c *cluster) startNode(t *testing.T) {
	t.Helper()
	var err error
	if c.agent, err = c.runner.Start(c.spec); err != nil {
		t.Fatalf("start the process node: %v", err)
	}
}

func (c *cluster) stop(t *testing.T) {
	if t.Failed() {
		content, err := os.ReadFile(c.Cluster.Log("processnode"))
		t.Logf("log of the process node: %v\n%s", err, content)
	}
	if err := c.runner.Close(); err != nil {
		t.Errorf("stop the cluster's processes: %v", err)
	}
}

// await polls until look is content; the last mismatch explains a timeout.
func await(t *testing.T, what string, look func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), poll, bound, true, func(ctx context.Context) (bool, error) {
		last = look(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("wait for %s: %v: %v", what, err, last)
	}
}

func (c *cluster) awaitPod(t *testing.T, name string, look func(*corev1.Pod) error) (pod *corev1.Pod) {
	t.Helper()
	await(t, "pod "+name, func(ctx context.Context) (err error) {
		if pod, err = c.client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if err := look(pod); err != nil {
			return fmt.Errorf("%w; its status is %+v", err, pod.Status)
		}
		return nil
	})
	return pod
}

// isReady wants a pod that is ready after so many restarts of its container.
func isReady(restarts int32) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		if s := pod.Status.ContainerStatuses; len(s) != 1 || !s[0].Ready || s[0].RestartCount != restarts {
			return fmt.Errorf("want it ready after %d restarts", restarts)
		}
		return nil
	}
}

// create makes a pod of one container that runs the steps.
func (c *cluster) create(t *testing.T, name string, change func(*corev1.Pod), steps ...string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: clustertest.Image, Command: []string{"testpod"}, Args: steps,
			Env: []corev1.EnvVar{{Name: "POD_IP",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
		}}},
	}
	if change != nil {
		change(pod)
	}
	await(t, "the pod to be accepted", func(ctx context.Context) error { // it is not, before its service account is there
		_, err := c.client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// processes lists what runs in containers.
func (c *cluster) processes(t *testing.T) (list []podworker.Process) {
	t.Helper()
	response, err := c.nodeClient(t, "kubelet-client").Get(c.nodeURL() + "/processes")
	if err != nil {
		t.Fatalf("list the processes of the node: %v", err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatalf("parse the processes of the node: %v", err)
	}
	return list
}

func (c *cluster) nodeURL() string {
	return "https://" + net.JoinHostPort(c.Cluster.Address.String(), "10250")
}

// nodeClient talks to the node with a certificate of the cluster, or with none.
func (c *cluster) nodeClient(t *testing.T, names ...string) *http.Client {
	t.Helper()
	authority, err := os.ReadFile(c.Cluster.PKI().Certificate("ca"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	for _, name := range names {
		pair, err := tls.LoadX509KeyPair(c.Cluster.PKI().Certificate(name), c.Cluster.PKI().Key(name))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = append(config.Certificates, pair)
	}
	return &http.Client{Timeout: bound, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}

// processOf is the process of a pod's container.
func (c *cluster) processOf(t *testing.T, pod string) process.ID {
	t.Helper()
	list := c.processes(t)
	i := slices.IndexFunc(list, func(p podworker.Process) bool { return p.Pod == pod })
	if i < 0 {
		t.Fatalf("pod %q has no process among %v", pod, list)
	}
	id, err := process.Find(list[i].PID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// awaitLog waits until a pod's log has all the texts.
func (c *cluster) awaitLog(t *testing.T, pod string, options corev1.PodLogOptions, texts ...string) {
	t.Helper()
	await(t, "the log of "+pod, func(ctx context.Context) error {
		log, err := c.client.CoreV1().Pods("default").GetLogs(pod, &options).DoRaw(ctx)
		for _, text := range texts {
			if err == nil && !strings.Contains(string(log), text) {
				err = fmt.Errorf("%q is not in %q", text, log)
			}
		}
		return err
	})
}
