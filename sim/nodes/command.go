package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/nodes/kubelet"
)

type flags struct {
	Options
	cloudKubeconfig, proxyURL, proxyCA, metricsAddress, kubeletAddress string
}

// NewCommand is `transplant nodes`: the worker nodes of all shoots.
func NewCommand() *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use:           "nodes",
		Short:         "Run the worker nodes of all shoots, one node for each machine of the cloud",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, os.Interrupt)
			defer stop()
			f.Log = klog.Background().WithName("nodes")
			return f.run(ctx)
		},
	}
	set := command.Flags()
	set.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "",
		"kubeconfig file of the cloud's API, whose token has the role nodes")
	set.StringVar(&f.proxyURL, "proxy-url", "", "HTTP CONNECT proxy between the nodes and the shoots; empty for none")
	set.StringVar(&f.proxyCA, "proxy-ca", "", "PEM file of the certificate authority of the proxy")
	set.StringVar(&f.Kwok, "kwok", "", "path of the multi-call binary that contains kwok")
	set.StringVar(&f.RootDir, "root-dir", "", "folder for the machines' disks and kwok's files")
	set.DurationVar(&f.Sync, "sync-period", DefaultSync,
		"how often the program compares the nodes of a shoot with its machines")
	set.IntVar(&f.LeaseSeconds, "node-lease-duration-seconds", DefaultLeaseSeconds,
		"duration of a node's lease; the node renews it four times in this time")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "", "address of GET /metrics, plain HTTP; empty for none")
	set.StringVar(&f.kubeletAddress, "kubelet-bind-address", "",
		"address that answers for the kubelets of all nodes, which are simulated; empty for none")
	f.Real.AddFlags(set)
	for _, name := range []string{"cloud-kubeconfig", "kwok", "root-dir"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

func (f *flags) complete() (err error) {
	if f.Cloud, err = cloud.FromKubeconfigFile(f.cloudKubeconfig, cloud.Options{}); err != nil {
		return err
	}
	if f.proxyURL != "" {
		if f.ProxyURL, err = url.Parse(f.proxyURL); err != nil {
			return fmt.Errorf("parse --proxy-url: %w", err)
		}
	}
	if f.proxyCA != "" {
		if f.ProxyCA, err = os.ReadFile(f.proxyCA); err != nil {
			return fmt.Errorf("read --proxy-ca: %w", err)
		}
	}
	// Children have a working folder of their own.
	if f.Kwok, err = filepath.Abs(f.Kwok); err != nil {
		return fmt.Errorf("find --kwok: %w", err)
	}
	if _, err := os.Stat(f.Kwok); err != nil {
		return fmt.Errorf("find --kwok: %w", err)
	}
	if f.RootDir, err = filepath.Abs(f.RootDir); err != nil {
		return fmt.Errorf("find --root-dir: %w", err)
	}
	if err := os.MkdirAll(f.RootDir, 0o700); err != nil {
		return fmt.Errorf("make --root-dir: %w", err)
	}
	return f.Real.Complete(f.RootDir)
}

func (f *flags) run(ctx context.Context) error {
	if err := f.complete(); err != nil {
		return err
	}
	if f.kubeletAddress == "" {
		return f.serve(ctx, nil)
	}
	kubelets, err := kubelet.Listen(f.kubeletAddress)
	if err != nil {
		return fmt.Errorf("take the address of --kubelet-bind-address: %w", err)
	}
	return f.serve(ctx, kubelets)
}

// serve the nodes, their kubelets, if there are any, and the metrics until ctx is done. One of them that fails ends the
// others.
func (f *flags) serve(ctx context.Context, kubelets *kubelet.Server) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if kubelets != nil {
		f.Kubelet = kubelets.At()
		group.Go(func() error { return kubelets.Serve(ctx) })
	}
	agent := New(f.Options)
	if f.metricsAddress != "" {
		listener, err := net.Listen("tcp", f.metricsAddress)
		if err != nil {
			return fmt.Errorf("take the address of --metrics-bind-address: %w", err)
		}
		server := &http.Server{Handler: agent.Metrics(), ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error { return ignoreClosed(server.Serve(listener)) })
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	}
	group.Go(func() error { return agent.Run(ctx) })
	return group.Wait()
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
