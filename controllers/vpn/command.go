package vpn

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

// NewServerCommand is `transplant vpn-seed-server`: the end of the tunnel beside the API server of a shoot.
func NewServerCommand() *cobra.Command {
	var tunnels, egress, folder, metricsAddress string
	command := &cobra.Command{
		Use: "vpn-seed-server", Short: "Send what the API server of a shoot asks of its nodes through their tunnel",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: untilSignal(func(ctx context.Context) error {
			s := newServer(certificates(folder), clock.RealClock{}, klog.Background().WithName("vpn-seed-server"))
			metrics, err := metricsserver.Listen(ctx, metricsAddress, s.metrics.tunnels, s.metrics.connections)
			if err != nil {
				return err
			}
			group, ctx := errgroup.WithContext(ctx)
			group.Go(metrics)
			for address, serve := range map[string]func(context.Context, net.Listener) error{
				tunnels: s.serveTunnels, egress: s.serveEgress,
			} {
				listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
				if err != nil {
					return fmt.Errorf("listen at %s: %w", address, err)
				}
				group.Go(func() error { return serve(ctx, listener) })
			}
			return group.Wait()
		}),
	}
	flags := command.Flags()
	flags.StringVar(&tunnels, "tunnel-listen", ":1194", "`ADDRESS` for tunnels from the nodes")
	flags.StringVar(&egress, "egress-listen", ":9443", "`ADDRESS` for HTTP CONNECT of the API server")
	flags.StringVar(&metricsAddress, "metrics-bind-address", "", "`ADDRESS` of /metrics and /healthz; empty for none")
	addCertificates(command, &folder)
	return command
}

// NewShootCommand is `transplant vpn-shoot`: the end of the tunnel on the nodes of a shoot.
func NewShootCommand() *cobra.Command {
	s, dnsServer, folder := &shoot{clock: clock.RealClock{}}, "", ""
	command := &cobra.Command{
		Use: "vpn-shoot", Short: "Keep a tunnel open to the control plane of the shoot, and connect what comes through it",
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: untilSignal(func(ctx context.Context) error {
			s.resolver, s.certificates = resolverOf(dnsServer), certificates(folder)
			s.log = klog.Background().WithName("vpn-shoot")
			s.run(ctx)
			return nil
		}),
	}
	flags := command.Flags()
	flags.StringVar(&s.gateway, "gateway", "", "`HOST:PORT` of the gateway of the seed that has the shoot")
	flags.StringVar(&s.destination, "destination", "", "vpn-seed-server, as the gateway finds it: "+
		"\"outbound|PORT||SERVICE.NAMESPACE.svc.cluster.local\"")
	flags.StringVar(&s.serverName, "server-name", "vpn-seed-server", "`NAME` in the certificate of vpn-seed-server")
	flags.StringVar(&dnsServer, "dns-server", "", "`HOST:PORT` of the DNS server; empty for the pod's resolver")
	addCertificates(command, &folder)
	for _, name := range []string{"gateway", "destination"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

func addCertificates(command *cobra.Command, folder *string) {
	command.Flags().StringVar(folder, "certificates", "",
		"`FOLDER` with tls.crt, tls.key, and ca.crt of the tunnel's authority")
	utilruntime.Must(command.MarkFlagRequired("certificates")) // the flag is defined above
}

func untilSignal(run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return run(ctx)
	}
}
