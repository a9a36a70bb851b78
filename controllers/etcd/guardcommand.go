package etcd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// guardFlags are the flags of etcd-guard.
type guardFlags struct {
	listen, httpListen, apiListen          string
	endpoint                               string
	files                                  access.Files
	dataDir, backupURL                     string
	gardenKubeconfig, lease                string
	cloudKubeconfig, ownerRecord, ownerUID string
	epoch                                  int64
	timing                                 ownership.Timing
}

// NewGuardCommand returns "etcd-guard": the only way to etcd's client port (docs/ownership.md#spec-9-2).
func NewGuardCommand() *cobra.Command {
	f := &guardFlags{}
	command := &cobra.Command{
		Use:   "etcd-guard",
		Short: "Pass requests to etcd only while this seed can prove that it owns the shoot",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return f.run(ctx)
		},
		SilenceUsage: true,
	}
	flags := command.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:2379", "address for the API server (gRPC, mutual TLS)")
	flags.StringVar(&f.httpListen, "http-listen", "127.0.0.1:2381", "address for probes and metrics (HTTP)")
	flags.StringVar(&f.apiListen, "api-listen", "127.0.0.1:2382", "address for holders and the owner (HTTP, mutual TLS)")
	flags.StringVar(&f.endpoint, "endpoint", "", "unix socket of etcd, as unix:///path")
	files(flags, &f.files)
	flags.StringVar(&f.dataDir, "data-dir", "", "etcd's data directory")
	flags.StringVar(&f.backupURL, "backup-url", "", "base URL of the API of the backup sidecar, for the final snapshot")
	flags.StringVar(&f.gardenKubeconfig, "garden-kubeconfig", "", "kubeconfig of the garden")
	flags.StringVar(&f.lease, "lease", "", "ownership lease in the garden, as namespace/name")
	flags.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "", "kubeconfig of the cloud")
	flags.StringVar(&f.ownerRecord, "owner-record", "", "name of the owner record in DNS")
	flags.StringVar(&f.ownerUID, "owner", "", "UID of the Seed that this guard runs on")
	flags.Int64Var(&f.epoch, "epoch", 0, "ownership epoch of this guard's control plane")
	flags.DurationVar(&f.timing.Interval, "owner-check-interval", ownership.DefaultTiming.Interval,
		"how often the guard reads both authorities: the lease in the garden, and the owner record in DNS")
	flags.DurationVar(&f.timing.Timeout, "owner-check-timeout", ownership.DefaultTiming.Timeout,
		"how long the guard is valid after it has read an authority")
	for _, name := range []string{"endpoint", "ca-file", "cert-file", "key-file", "data-dir", "backup-url",
		"garden-kubeconfig", "lease", "cloud-kubeconfig", "owner-record", "owner", "epoch"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

func (f *guardFlags) run(ctx context.Context) error {
	log := klog.FromContext(ctx).WithName("etcd-guard").WithValues("epoch", f.epoch)
	clock, err := ownership.NewBootClock()
	if err != nil {
		return err
	}
	claim, decision, err := f.authorities()
	if err != nil {
		return err
	}
	g, err := f.newGuard(clock)
	if err != nil {
		return err
	}
	proxy, listener, err := f.newProxy(ctx, g, clock)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	if err := proxy.Register(registry); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	server := &guard.Server{Guard: g, Clock: clock, Gatherer: registry}
	if err := serveHTTP(ctx, group, f.httpListen, nil, server.Probes()); err != nil {
		return err
	}
	if err := serveAPI(ctx, group, f.apiListen, f.files, server.Routes()); err != nil {
		return err
	}
	sidecar := &http.Client{Transport: access.Transport(f.files.Read)}
	end := &guard.End{Guard: g, Clock: clock, Backup: f.backupURL, Client: sidecar, Log: log}
	group.Go(func() error { g.Follow(ctx, ownership.Claim, claim, log); return nil })
	group.Go(func() error { g.Follow(ctx, ownership.Decision, decision, log); return nil })
	group.Go(func() error { end.Run(ctx); return nil })
	group.Go(func() error { return proxy.Serve(listener) })
	group.Go(func() error { <-ctx.Done(); proxy.Stop(); return nil })
	log.Info("Guard stands before etcd", "state", g.State(), "listen", f.listen)
	return group.Wait()
}

// newGuard resumes the guard of the data directory, which must belong to the epoch.
func (f *guardFlags) newGuard(clock ownership.Clock) (*validity.Guard, error) {
	dir := datadir.Dir(f.dataDir)
	marker, err := dir.ReadEpoch()
	if err != nil {
		return nil, err
	}
	if marker.Epoch != f.epoch {
		return nil, fmt.Errorf("guard epoch %d: the data directory belongs to epoch %d", f.epoch, marker.Epoch)
	}
	memory, err := dir.ReadMemory()
	if err != nil {
		return nil, err
	}
	return validity.NewGuard(validity.GuardOptions{
		Self: ownership.Record{Owner: f.ownerUID, Epoch: f.epoch}, Timing: f.timing, Clock: clock,
		Memory: memory, Remember: dir.WriteMemory,
	})
}

func (f *guardFlags) newProxy(ctx context.Context, g *validity.Guard, clock ownership.Clock) (*guard.Proxy,
	net.Listener, error) {
	socket, err := socketOf(f.endpoint)
	if err != nil {
		return nil, nil, err
	}
	tlsConfig, err := access.ServeTLS(f.files, "h2", access.APIServer)
	if err != nil {
		return nil, nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for etcd's clients: %w", err)
	}
	return guard.NewProxy(g, clock, socket, tlsConfig), listener, nil
}

// authorities are the Lease in the garden and the record in DNS, through uncached clients.
func (f *guardFlags) authorities() (claim, decision ownership.Authority, err error) {
	namespace, name, ok := strings.Cut(f.lease, "/")
	if !ok {
		return nil, nil, fmt.Errorf("parse the lease %q: it must be namespace/name", f.lease)
	}
	config, err := authorityConfig(f.gardenKubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("read the garden's kubeconfig: %w", err)
	}
	garden, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for the garden: %w", err)
	}
	if config, err = authorityConfig(f.cloudKubeconfig); err != nil {
		return nil, nil, fmt.Errorf("read the cloud's kubeconfig: %w", err)
	}
	dns, err := cloud.New(config, cloud.Options{})
	if err != nil {
		return nil, nil, err
	}
	return &ownership.LeaseAuthority{Leases: garden.CoordinationV1().Leases(namespace), Name: name},
		&ownership.TXTAuthority{Records: &ownership.CloudTXT{Client: dns}, Name: f.ownerRecord}, nil
}

func authorityConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return ownership.ReadConfig(config), nil
}
