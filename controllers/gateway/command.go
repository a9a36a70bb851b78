package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// options are the flags of the command.
type options struct {
	kubeconfig, listen, proxyListen, tunnelListen, metrics string
	interval                                               time.Duration
}

// NewCommand returns "gateway": the seed's entry for clients outside (docs/specification/nodes-and-seeds.md#spec-7-4).
func NewCommand() *cobra.Command {
	o := &options{}
	command := &cobra.Command{
		Use:   "gateway",
		Short: "Route clients outside a seed to the API servers of its shoots, by server name",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.run(ctx)
		},
		SilenceUsage: true,
	}
	flags := command.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the seed")
	flags.StringVar(&o.listen, "listen", ":9443", "address for TLS connections, routed by server name")
	flags.StringVar(&o.proxyListen, "proxy-protocol-listen", "",
		"address for connections with a PROXY protocol header; empty for none")
	flags.StringVar(&o.tunnelListen, "tunnel-listen", "",
		"address for HTTP CONNECT of the reversed tunnels; empty for none")
	flags.StringVar(&o.metrics, "metrics-bind-address", "", "address of /metrics; empty for none")
	flags.DurationVar(&o.interval, "owner-check-interval", time.Second,
		"how often the gateway asks the guard of each shoot for its validity")
	utilruntime.Must(command.MarkFlagRequired("kubeconfig")) // the flag is defined above
	return command
}

func (o *options) run(ctx context.Context) error {
	log := klog.FromContext(ctx).WithName("gateway")
	clock, err := ownership.NewBootClock()
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the seed's kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for the seed: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	// A restarted gateway is another holder, so its name is made anew.
	table := newTable(ctx, "gateway-"+uuid.NewString(), clock, o.interval, log)
	if err := o.serveMetrics(ctx, group, table); err != nil {
		return err
	}
	// Listening begins when the routes are known: until then a client should try elsewhere.
	group.Go(func() error {
		return watch(ctx, client, table, func(services corelisters.ServiceLister) {
			o.listenAll(ctx, group, table, services)
		})
	})
	return group.Wait()
}

// serveMetrics serves what the gateway and its process measure, until ctx is done.
func (o *options) serveMetrics(ctx context.Context, group *errgroup.Group, table *table) error {
	serve, err := metricsserver.Listen(ctx, o.metrics, table.collectors()...)
	if err != nil {
		return err
	}
	group.Go(serve)
	return nil
}

func (o *options) listenAll(ctx context.Context, group *errgroup.Group, table *table,
	services corelisters.ServiceLister) {
	for _, port := range []struct {
		address string
		server  *server
	}{
		{o.listen, newServer(table, table.log)},
		{o.proxyListen, newProxyServer(table, services, table.log)},
		{o.tunnelListen, newTunnelServer(table, services, table.log)},
	} {
		if port.address == "" {
			continue
		}
		group.Go(func() error {
			listener, err := (&net.ListenConfig{KeepAlive: keepAlive}).Listen(ctx, "tcp", port.address)
			if err != nil {
				return fmt.Errorf("listen for clients: %w", err)
			}
			table.log.Info("Gateway takes connections", "listen", port.address)
			return port.server.serve(ctx, listener)
		})
	}
}
