package nodes

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

//go:embed stages.yaml
var stages []byte

// kwokGrace is how long kwok has to end.
const kwokGrace = 2 * time.Second

// kwok is the process that keeps the nodes of one API server alive. It is used from one goroutine.
type kwok struct {
	binary  string
	folder  string
	seconds int // of a lease
	runner  *process.Runner

	process *process.Process
	starts  int
}

// running says whether the process lives.
func (k *kwok) running() bool { return k.process != nil && k.process.Running() }

// start writes kwok's files and starts it. The lease holders of an earlier kwok must have been cleared.
func (k *kwok) start(shoot string, c credentials) error {
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of kwok of shoot %q: %w", shoot, err)
	}
	kubeconfig, config := filepath.Join(k.folder, "kubeconfig"), filepath.Join(k.folder, "kwok.yaml")
	if err := clientcmd.WriteToFile(c.kubeconfig(), kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig of kwok of shoot %q: %w", shoot, err)
	}
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return fmt.Errorf("write the stages of kwok of shoot %q: %w", shoot, err)
	}
	started, err := k.runner.Start(process.Spec{
		Name: shoot + "/kwok",
		Path: k.binary,
		Args: []string{
			"kwok", "--kubeconfig=" + kubeconfig, "--config=" + filepath.Base(config), // kwok splits it at commas
			"--manage-nodes-with-label-selector=" + managedLabel + "=" + managedValue,
			fmt.Sprintf("--node-lease-duration-seconds=%d", k.seconds),
			"--cidr=100.96.0.1/11",
		},
		// A dead connection is noticed in seconds; no file of the user's kwok is read.
		Env: []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS=5", "HTTP2_PING_TIMEOUT_SECONDS=3", "KWOK_WORKDIR=" + k.folder},
		Dir: k.folder,
		Log: filepath.Join(k.folder, "kwok.log"),
	})
	if err != nil {
		return err
	}
	k.process = started
	k.starts++
	return nil
}

// stop ends the process, if there is one.
func (k *kwok) stop() error {
	if k.process == nil {
		return nil
	}
	stopped := k.process
	k.process = nil
	return stopped.Stop(context.Background(), kwokGrace)
}

// kubeconfig is how kwok reaches the shoot.
func (c credentials) kubeconfig() clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	cluster, user := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
	cluster.Server, cluster.CertificateAuthorityData, cluster.ProxyURL = c.server, []byte(c.authorities), c.proxy
	user.Token = c.token
	config.Clusters["shoot"], config.AuthInfos["nodes"] = cluster, user
	config.Contexts["shoot"] = &clientcmdapi.Context{Cluster: "shoot", AuthInfo: "nodes"}
	config.CurrentContext = "shoot"
	return *config
}
