package processnode_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/clusters/clustertest"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

const bound = 90 * time.Second

// cluster is a whole embedded cluster with its process node.
type cluster struct {
	*apiservertest.Server
	client kubernetes.Interface
	runner *process.Runner
	node   process.Spec
	agent  *process.Process
}

// startCluster starts a cluster whose slice of 127.0.0.0/8 is the test's own.
func startCluster(t *testing.T, slice byte, images map[string]string, flags ...string) *cluster {
	t.Helper()
	prefix := func(third byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, slice, third, 0}), 18)
	}
	server, err := apiservertest.Launch(t.Context(), apiservertest.Options{Flags: []string{"--service-cluster-ip-range=" + prefix(128).String()}})
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	c := &cluster{Server: server, client: kubernetes.NewForConfigOrDie(server.Config), runner: process.NewRunner()}
	t.Cleanup(func() { c.stop(t) })
	for _, spec := range []process.Spec{server.Cluster.ControllerManager(), server.Cluster.Scheduler()} {
		if _, err := c.runner.Start(spec); err != nil {
			t.Fatalf("start %s: %v", spec.Name, err)
		}
	}
	c.node = c.nodeSpec(t, prefix, images, flags)
	c.startNode(t)
	return c
}

func (c *cluster) nodeSpec(t *testing.T, prefix func(byte) netip.Prefix, images map[string]string, flags []string) process.Spec {
	t.Helper()
	keys := c.Cluster.PKI()
	args := []string{
		"processnode", "--node-name=node", "--kubeconfig=" + c.Cluster.Kubeconfig(program.Node), "--address=" + c.Cluster.Address.String(),
		"--pod-cidr=" + prefix(64).String(), "--service-cidr=" + prefix(128).String(), "--load-balancer-cidr=" + prefix(192).String(),
		"--root-dir=" + filepath.Join(c.Cluster.Dir, "node"), "--client-ca=" + keys.Certificate("ca"),
		"--serving-cert=" + keys.Certificate("node"), "--serving-key=" + keys.Key("node"),
	}
	for name, folder := range images {
		args = append(args, fmt.Sprintf("--image=%s=%s", name, folder))
	}
	return process.Spec{Name: "node", Path: "/proc/self/exe", Args: append(args, flags...), Log: c.Cluster.Log("processnode")}
}

func (c *cluster) startNode(t *testing.T) {
	t.Helper()
	var err error
	if c.agent, err = c.runner.Start(c.node); err != nil {
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
	if err := c.Stop(); err != nil {
		t.Errorf("stop the API server: %v", err)
	}
}

func TestPods(t *testing.T) {
	c := startCluster(t, 241, map[string]string{clustertest.Image: clustertest.BuildTestPod(t)})
	clustertest.Run(t, clustertest.Backend{Config: c.Config})
}
