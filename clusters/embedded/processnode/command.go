package processnode

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode/container"
)

const (
	commandName = "processnode"
	initName    = "container-init"
)

// NewCommand is "processnode", the agent. The program that has it must have it at its first level: the agent runs
// itself as "processnode container-init" to start containers.
func NewCommand() *cobra.Command {
	config := Config{Images: map[string]string{}}
	command := &cobra.Command{
		Use:   commandName,
		Short: "Run the pods of an embedded cluster as child processes",
		Long: "The agent registers one Node. It runs the pods of this Node as child processes on loopback " +
			"addresses. When its parent ends, the agent and all its pods end, too.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := config.complete(); err != nil {
				return err
			}
			syscall.Umask(0o022) // whatever the parent's: containers begin with this one
			// Before the next step, which may leave this process waiting for another one.
			if err := container.EndWithParent(); err != nil {
				return err
			}
			ran, code, err := container.AsRoot()
			if err != nil {
				return err
			}
			if ran && code != 0 {
				os.Exit(code)
			}
			if ran {
				return nil
			}
			ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return Run(ctx, config, klog.Background())
		},
	}
	addFlags(command, &config)
	command.AddCommand(newInitCommand())
	return command
}

func addFlags(command *cobra.Command, c *Config) {
	flags := command.Flags()
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster")
	flags.StringVar(&c.Name, "node-name", "", "`NAME` of the Node")
	flags.TextVar(&c.Address, "address", c.Address, "`ADDRESS` of the node, in 127.0.0.0/8")
	flags.Uint16Var(&c.Port, "port", 10250, "`PORT` of the kubelet's API")
	flags.TextVar(&c.Pods, "pod-cidr", c.Pods, "`RANGE` of the pods' addresses, in 127.0.0.0/8")
	flags.TextVar(&c.Services, "service-cidr", c.Services,
		"`RANGE` of the services' addresses, the same as the API server's")
	flags.TextVar(&c.LoadBalancers, "load-balancer-cidr", c.LoadBalancers,
		"`RANGE` of the addresses of services of type LoadBalancer, in 127.0.0.0/8")
	flags.StringVar(&c.RootDir, "root-dir", "", "`DIR` for pods and volumes; it stays when the agent ends")
	flags.StringVar(&c.Machine, "machine", "", "`DIR` that is the disk of the machine: paths of the host are below it. "+
		"Others then register the Node, say what it is, and forward the addresses of services")
	flags.StringVar(&c.CloudVolumes, "cloud-volumes", "",
		"the CSI driver of the cloud's volumes, and the absolute folder that has them, as `DRIVER=DIR`")
	flags.Var(images(c.Images), "image", "an image, and the folder of its programs; may be repeated")
	flags.StringVar(&c.ServingCert, "serving-cert", "", "certificate `FILE` of the kubelet's API")
	flags.StringVar(&c.ServingKey, "serving-key", "", "key `FILE` of the kubelet's API")
	flags.StringVar(&c.ClientCA, "client-ca", "",
		"`FILE` of the certificate authority that signs the API server's client certificate")
	flags.StringVar(&c.APIServer, "api-server", "",
		"`HOST:PORT` of the API server for pods (default: as in the kubeconfig)")
	flags.DurationVar(&c.RestartBackoff, "restart-backoff", time.Second,
		"first delay before a failing container is restarted; the delay doubles each time")
	flags.DurationVar(&c.MaxRestartBackoff, "max-restart-backoff", time.Minute,
		"longest delay before a failing container is restarted")
	flags.StringToStringVar(&c.Capacity, "capacity", map[string]string{
		"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000",
	}, "capacity that the Node reports; the agent neither reserves nor limits any of it")
}

func newInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:           initName,
		Hidden:        true,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			if _, err := os.Stat("/proc/self/fd/4"); err != nil {
				return errors.New("container-init is for the process node itself")
			}
			return fmt.Errorf("start a container: %w", container.Init())
		},
	}
}
