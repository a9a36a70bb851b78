package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	kindexec "sigs.k8s.io/kind/pkg/exec"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/atrest"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// Cluster is a garden or a seed as a container.
type Cluster struct {
	name      string
	role      clusters.Role
	full      string // what kind calls it
	port      int32  // of the API server on this machine's loopback, the same for as long as the landscape lives
	landscape *Landscape
	provider  *kind.Provider

	abilities sync.Mutex // one of Lose, Return, Freeze, Thaw at a time
	wiped     bool       // the node is gone, with its data
	outage    atomic.Value
}

var _ clusters.Cluster = &Cluster{}

// readyTimeout bounds the start of one cluster on a machine with all cores busy.
const readyTimeout = 5 * time.Minute

// The authorities of a cluster, as kubeadm names them. They are made here, so that they outlive its node.
const authority = "ca"

// keysInNode is where kubeadm has the keys of a cluster.
const keysInNode = "/etc/kubernetes/pki/"

// Every cluster has the same networks, as kind has it: pods reach other clusters by their nodes only.
const (
	podNetwork     = "10.244.0.0/16"
	serviceNetwork = "10.96.0.0/16"
)

// Networks are the address ranges of a cluster's pods and services.
func (l *Landscape) Networks(cluster string) (pods, services string, err error) {
	if _, err := l.clusters.Find(cluster); err != nil {
		return "", "", err
	}
	return podNetwork, serviceNetwork, nil
}

func newCluster(l *Landscape, name string, role clusters.Role) (*Cluster, error) {
	c := &Cluster{
		name: name, role: role, full: prefix(l.dir.Path, l.dir.Name) + name, landscape: l,
		provider: kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(log.NoopLogger{})),
	}
	made, err := pki.NewAuthority(c.full, time.Now())
	if err != nil {
		return nil, err
	}
	if err := c.keys().WriteAuthority(authority, made); err != nil {
		return nil, fmt.Errorf("write the authority of cluster %q: %w", name, err)
	}
	if err := os.WriteFile(c.encryption(), atrest.Configuration(atrest.Resources(role)), 0o600); err != nil {
		return nil, fmt.Errorf("encrypt cluster %q: %w", name, err)
	}
	return c, nil
}

// encryption is the file with the key of what the cluster keeps encrypted. It outlives the node, as the authority does.
func (c *Cluster) encryption() string { return filepath.Join(string(c.keys()), atrest.FileName) }

// Name is "garden" or the seed's name.
func (c *Cluster) Name() string { return c.name }

// Role is what the cluster is to the landscape.
func (c *Cluster) Role() clusters.Role { return c.role }

// Node is the name of the container that is the cluster's node, by which other containers on the network reach it.
func (c *Cluster) Node() string { return nodeName(c.full) }

// URL is where the API server is found from this machine. Other containers and their pods find it at its node.
func (c *Cluster) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

func (c *Cluster) keys() pki.Folder {
	return pki.Folder(c.landscape.dir.Join("clusters", c.name, "pki"))
}

// CA is the certificate, in PEM, of the authority that signs for the API server.
func (c *Cluster) CA() ([]byte, error) {
	content, err := os.ReadFile(c.keys().Certificate(authority))
	if err != nil {
		return nil, fmt.Errorf("read the authority of cluster %q: %w", c.name, err)
	}
	return content, nil
}

// Kubeconfig is the file with which a person, or a tool, may do everything in the cluster.
func (c *Cluster) Kubeconfig() string {
	return c.landscape.dir.Join("clusters", c.name, "admin.kubeconfig")
}

// Connect returns the configuration of the observer, or of an actor whose kubeconfig is in the run directory.
func (c *Cluster) Connect(actor string) (*rest.Config, error) {
	path := c.landscape.dir.Kubeconfig(actor, c.name)
	if actor == clusters.Observer {
		path = c.Kubeconfig()
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("connect actor %q to cluster %q: %w", actor, c.name, err)
	}
	config.QPS = -1 // limits are the API server's business
	return config, nil
}

// create makes the node, and waits until pods can run on it.
func (c *Cluster) create(ctx context.Context) error {
	began := time.Now()
	var created error
	done := make(chan struct{}) // closed when created is set
	go func() {
		defer close(done)
		options := []kind.CreateOption{
			kind.CreateWithV1Alpha4Config(c.config()), kind.CreateWithKubeconfigPath(c.Kubeconfig()),
			kind.CreateWithDisplayUsage(false), kind.CreateWithDisplaySalutation(false),
		}
		if image := c.landscape.options.NodeImage; image != "" {
			options = append(options, kind.CreateWithNodeImage(image))
		}
		created = c.provider.Create(c.full, options...)
	}()
	select {
	case <-done:
		if created != nil {
			return fmt.Errorf("create the cluster %q: %w", c.name, explain(created))
		}
	case <-ctx.Done():
		// kind does not hear of it; without a node it fails
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err := docker.Remove(cleanup, c.Node())
		<-done
		return errors.Join(fmt.Errorf("create the cluster %q: %w", c.name, ctx.Err()), err, docker.Remove(cleanup, c.Node()))
	}
	if err := os.Chmod(c.Kubeconfig(), 0o600); err != nil {
		return fmt.Errorf("keep the kubeconfig of cluster %q: %w", c.name, err)
	}
	if err := c.awaitReady(ctx, began); err != nil {
		return err
	}
	c.landscape.options.Progress(c.name, fmt.Sprintf("ready after %s", time.Since(began).Round(tick)))
	return nil
}

// config is a cluster of one node with the landscape's authority. Pods see changed volumes within seconds, as they do
// on a process node. kubeadm has the time that the landscape has: on a busy machine its own minute for the first call
// is not enough.
func (c *Cluster) config() *v1alpha4.Cluster {
	kubelet := "kind: KubeletConfiguration\nsyncFrequency: 5s\n"
	if longest := c.landscape.options.MaxRestartBackoff; longest > 0 {
		kubelet += fmt.Sprintf("crashLoopBackOff: {maxContainerRestartPeriod: %s}\n", longest)
	}
	timeouts := fmt.Sprintf(
		"kind: InitConfiguration\ntimeouts:\n  controlPlaneComponentHealthCheck: %s\n  kubernetesAPICall: %[1]s\n",
		readyTimeout)
	config := &v1alpha4.Cluster{
		Networking: v1alpha4.Networking{
			APIServerAddress: "127.0.0.1", APIServerPort: c.port, PodSubnet: podNetwork, ServiceSubnet: serviceNetwork,
		},
		KubeadmConfigPatches: []string{kubelet, timeouts},
	}
	node := v1alpha4.Node{Role: v1alpha4.ControlPlaneRole}
	// kubeadm shows this folder of the node to the API server.
	for _, path := range []string{c.keys().Certificate(authority), c.keys().Key(authority), c.encryption()} {
		node.ExtraMounts = append(node.ExtraMounts, v1alpha4.Mount{
			HostPath: path, ContainerPath: keysInNode + filepath.Base(path), Readonly: true,
		})
	}
	config.Nodes = []v1alpha4.Node{node}
	config.KubeadmConfigPatchesJSON6902 = encryptionPatches(keysInNode + atrest.FileName)
	v1alpha4.SetDefaultsCluster(config)
	return config
}

// encryptionPatches point the API server to a file in the node. kind has arguments of its own beside it, which a merge
// would replace. kubeadm has them as a list since v1beta4, and as a map before; which of the two kind writes depends on
// the version of the node image, and it skips a patch of the other.
func encryptionPatches(file string) []v1alpha4.PatchJSON6902 {
	patch := func(version, operation string) v1alpha4.PatchJSON6902 {
		return v1alpha4.PatchJSON6902{
			Group: "kubeadm.k8s.io", Version: version, Kind: "ClusterConfiguration", Patch: fmt.Sprintf(operation, file),
		}
	}
	const name, arguments = "encryption-provider-config", "/apiServer/extraArgs/"
	return []v1alpha4.PatchJSON6902{
		patch("v1beta4", `[{"op": "add", "path": "`+arguments+`-", "value": {"name": "`+name+`", "value": %q}}]`),
		patch("v1beta3", `[{"op": "add", "path": "`+arguments+name+`", "value": %q}]`),
	}
}

// load puts the images of an archive into the node's store.
func (c *Cluster) load(ctx context.Context, archive string) error {
	if archive == "" {
		return nil
	}
	nodes, err := c.provider.ListInternalNodes(c.full)
	if err != nil {
		return fmt.Errorf("list the nodes of cluster %q: %w", c.name, err)
	}
	for _, node := range nodes {
		file, err := os.Open(archive)
		if err != nil {
			return fmt.Errorf("open the archive of images: %w", err)
		}
		err = errors.Join(explain(nodeutils.LoadImageArchive(node, file)), file.Close(), ctx.Err())
		if err != nil {
			return fmt.Errorf("load images into cluster %q: %w", c.name, err)
		}
	}
	return nil
}

// explainBytes of what a command of kind's has said are shown with its error.
const explainBytes = 2048

// explain adds what a command of kind's has said.
func explain(err error) error {
	ran := kindexec.RunErrorForError(err)
	if ran == nil {
		return err
	}
	output := ran.Output
	return fmt.Errorf("%w: it said:\n%s", err, output[max(0, len(output)-explainBytes):])
}
