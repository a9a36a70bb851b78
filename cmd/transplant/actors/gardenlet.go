// Package actors composes the product's duties into the programs that run them: the gardenlet of a seed and the
// garden-controller-manager. It holds wiring and flags only; what the programs do is in controllers.
package actors

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/cleanup"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/migration"
	"github.com/transplant-sim/transplant/controllers/operation"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/seed"
	"github.com/transplant-sim/transplant/controllers/shoot"
)

// gardenlet is the name of the program.
const gardenlet = "gardenlet"

type gardenletFlags struct {
	gardenKubeconfig, seedKubeconfig, cloudKubeconfig string
	shootProxyURL, shootProxyCA                       string
	settings                                          scope.Settings
	periods                                           run.Periods
	cadence                                           shoot.Cadence
	leaseInterval                                     time.Duration
	care                                              careFlags
	cleanupTimeout                                    time.Duration
	metricsAddress                                    string
}

// Where clients outside reach a seed's shoots (ARCHITECTURE.md, "Clusters").
const (
	gatewayNamespace = "istio-ingress"
	gatewayService   = "istio-ingressgateway"
	gatewayPort      = 9443
	tunnelPort       = 8132
)

const (
	// workers is how many shoots a gardenlet works on at a time.
	workers = 20
	// progressPeriod is how often progress is reported at most.
	progressPeriod = 2 * time.Second
)

// NewGardenlet is `transplant gardenlet`.
func NewGardenlet() *cobra.Command { return (&gardenletFlags{}).command() }

func (f *gardenletFlags) command() *cobra.Command {
	f.settings.GatewayNamespace, f.settings.GatewayService = gatewayNamespace, gatewayService
	f.settings.GatewayPort, f.settings.TunnelPort, f.periods.Progress = gatewayPort, tunnelPort, progressPeriod
	command := &cobra.Command{
		Use: gardenlet, Short: "Run the gardenlet of a seed", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	set := command.Flags()
	set.StringVar(&f.gardenKubeconfig, "garden-kubeconfig", "", "kubeconfig of the garden")
	set.StringVar(&f.seedKubeconfig, "seed-kubeconfig", "", "kubeconfig of the seed")
	set.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "", "kubeconfig file of the cloud's API")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	set.StringVar(&f.shootProxyURL, "shoot-proxy-url", "", "HTTP proxy to the shoots; empty for none")
	set.StringVar(&f.shootProxyCA, "shoot-proxy-ca-file", "",
		"file of the proxy's certificate authority, if the proxy terminates TLS")
	set.StringVar(&f.settings.SeedName, "seed-name", "", "name of this gardenlet's Seed")
	set.StringVar(&f.settings.InternalDomain, "internal-domain", "", "domain of the shoots' internal DNS names")
	set.StringVar(&f.settings.Image, "image", "", "image of transplant's own programs")
	set.StringVar(&f.settings.KubernetesImage, "kubernetes-image", "", "image of etcd and of the Kubernetes programs")
	set.Int64Var(&f.settings.User, "control-plane-user", 0,
		"user ID and group ID of the shoots' control planes; 0 for those of their images")
	set.StringToStringVar(&f.settings.ExtensionRoles, "extension-role", nil,
		"ClusterRole of an extension in control-plane namespaces, as role=namespace/account; may be repeated")
	set.StringSliceVar(&f.settings.BackupExtensions, "backup-extension", nil,
		"ServiceAccount, as namespace/account, of an extension that needs the credentials of backups; may be repeated")
	set.DurationVar(&f.settings.OwnerCheckInterval, "owner-check-interval", ownership.DefaultTiming.Interval,
		"how often a guard reads its authorities")
	set.DurationVar(&f.settings.OwnerCheckTimeout, "owner-check-timeout", ownership.DefaultTiming.Timeout,
		"how long a guard is valid after it has read an authority")
	set.DurationVar(&f.settings.DeltaInterval, "delta-interval", 5*time.Second,
		"how often the changes in a shoot's etcd are backed up")
	set.DurationVar(&f.settings.FullSnapshotInterval, "full-snapshot-interval", time.Hour,
		"how often the whole content of a shoot's etcd is backed up")
	set.DurationVar(&f.settings.DNSTTL, "dns-ttl", 2*time.Minute, "time to live of the shoots' DNS records")
	set.StringVar(&f.settings.NodeDNSServer, "node-dns-server", "",
		"DNS server, as host:port, that pods of ours on the nodes of shoots ask; empty for the resolver of their nodes")
	set.DurationVar(&f.settings.WaitInterval, "wait-interval", 5*time.Second,
		"how often a wait checks again if no watch wakes it")
	set.DurationVar(&f.cadence.Sync, "sync-period", time.Hour, "how often an unchanged shoot is reconciled")
	set.BoolVar(&f.cadence.InMaintenanceOnly, "reconcile-in-maintenance-only", false,
		"reconcile an unchanged shoot once in each of its maintenance time windows, not in each sync period")
	set.BoolVar(&f.cadence.RespectOverwrite, "respect-sync-period-overwrite", false,
		"let the annotation shoot.gardener.cloud/sync-period set a shoot's own sync period")
	set.DurationVar(&f.periods.Retry, "retry-duration", 12*time.Hour, "how long a failing operation is retried")
	set.DurationVar(&f.leaseInterval, "lease-interval", 2*time.Second,
		"how often the gardenlet renews the seed's lease in the garden")
	set.DurationVar(&f.cleanupTimeout, "cleanup-timeout", cleanup.DefaultTimeout,
		"maximum time of a clean-up step of a shoot in deletion; then the step fails and is retried")
	f.care.add(set)
	for _, name := range []string{"garden-kubeconfig", "seed-kubeconfig", "cloud-kubeconfig", "seed-name",
		"internal-domain", "image", "kubernetes-image"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

func (f *gardenletFlags) run(ctx context.Context) error {
	setUpLogs()
	gardenConfig, err := connection.Load(f.gardenKubeconfig, gardenlet, callsPerSecond)
	if err != nil {
		return err
	}
	gardenConfig.Wrap(retryForbidden)
	seedConfig, err := connection.Load(f.seedKubeconfig, gardenlet, callsPerSecond)
	if err != nil {
		return err
	}
	pulse := &connection.Pulse{Clock: clock.RealClock{}}
	seedConfig.Wrap(pulse.Wrap)
	cloudConfig, err := connection.Load(f.cloudKubeconfig, gardenlet, callsPerSecond)
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(gardenConfig, seedConfig); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(gardenConfig, manager.Options{
		Scheme: gardenScheme(), Metrics: metricsserver.At(f.metricsAddress), HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("make the manager on the garden: %w", err)
	}
	seedCluster, err := cluster.New(seedConfig, func(o *cluster.Options) { o.Scheme = seedScheme() })
	if err != nil {
		return fmt.Errorf("make the clients of the seed: %w", err)
	}
	if err := mgr.Add(seedCluster); err != nil {
		return fmt.Errorf("add the seed to the manager: %w", err)
	}
	shoots, err := newShootClients(f.shootProxyURL, f.shootProxyCA)
	if err != nil {
		return err
	}
	factory, err := f.factory(gardenConfig, seedConfig, cloudConfig, shoots)
	if err != nil {
		return err
	}
	if factory.Watched, err = newWatchedReader(seedCluster.GetCache(), factory.Seed, seedCluster.GetScheme()); err != nil {
		return err
	}
	factory.WatchedGarden = mgr.GetCache()
	if err := ringOnChange(ctx, seedCluster, mgr, factory.Bell); err != nil {
		return err
	}
	heartbeat, err := f.heartbeat(ctx, mgr, seedConfig, factory, pulse)
	if err != nil {
		return err
	}
	measured, err := newGardenletMetrics(metrics.Registry, mgr.GetCache(), f.settings.SeedName)
	if err != nil {
		return err
	}
	if err := f.addDuties(mgr, seedCluster, factory, shoots, measured); err != nil {
		return err
	}
	if err := f.care.addToManager(mgr, seedCluster, factory, shoots, workers, measured.care); err != nil {
		return err
	}
	// A seed that was lost gets its rights in the garden back by reporting, and the manager needs them. So it reports from
	// the start: in a pause until the manager's caches are filled it could be lost again.
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return heartbeat.Start(ctx) })
	group.Go(func() error {
		if err := f.abortInterrupted(ctx, factory); err != nil {
			return err
		}
		return mgr.Start(ctx)
	})
	return group.Wait()
}

// abortInterrupted waits while the garden forbids it: the seed may have no rights yet.
func (f *gardenletFlags) abortInterrupted(ctx context.Context, factory *controlplane.Factory) error {
	for {
		err := operation.AbortInterrupted(ctx, factory.Garden, factory.Clock, f.settings.SeedName)
		if !apierrors.IsForbidden(err) {
			return err
		}
		klog.FromContext(ctx).Info("Interrupted operations are not aborted yet", "seed", f.settings.SeedName, "reason",
			err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-factory.Clock.After(f.leaseInterval):
		}
	}
}

// factory wires what every run of a flow needs. Flows decide without caches.
func (f *gardenletFlags) factory(gardenConfig, seedConfig, cloudConfig *rest.Config,
	shoots *shootClients) (*controlplane.Factory, error) {
	factory, err := outsideSeed(gardenConfig, cloudConfig)
	if err != nil {
		return nil, err
	}
	factory.Settings, factory.Shoots, factory.Reach = f.settings, shoots, shoots
	factory.Seed, err = client.New(connection.Bounded(seedConfig, callTimeout), client.Options{Scheme: seedScheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client of the seed: %w", err)
	}
	return factory, nil
}

// outsideSeed is what a run of a flow needs of the garden and of the cloud.
func outsideSeed(gardenConfig, cloudConfig *rest.Config) (*controlplane.Factory, error) {
	gardenConfig = connection.Bounded(gardenConfig, callTimeout)
	garden, err := client.New(gardenConfig, client.Options{Scheme: gardenScheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client of the garden: %w", err)
	}
	leases, err := kubernetes.NewForConfig(gardenConfig)
	if err != nil {
		return nil, fmt.Errorf("make the client for leases: %w", err)
	}
	dnsConfig := connection.Bounded(cloudConfig, callTimeout)
	dnsConfig.Wrap(retryForbidden) // the policy of a shoot that was bound just now may come later than the shoot
	dns, err := cloud.New(dnsConfig, cloud.Options{})
	if err != nil {
		return nil, err
	}
	contentConfig := rest.CopyConfig(cloudConfig) // backups may take long; see backup.CloudBucket
	contentConfig.Wrap(retryForbidden)
	content, err := cloud.New(contentConfig, cloud.Options{})
	if err != nil {
		return nil, err
	}
	boottime, err := ownership.NewBootClock()
	if err != nil {
		return nil, err
	}
	return &controlplane.Factory{
		Clock:    clock.RealClock{},
		Boottime: boottime,
		Garden:   garden,
		Bell:     &scope.Bell{},
		Owners:   &authorities{leases: leases, txt: &ownership.CloudTXT{Client: dns}},
		Bucket:   &buckets{cloud: content},
		States:   &shootstate.Store{Garden: garden, Clock: clock.RealClock{}},
		Version:  Version,
	}, nil
}

func (f *gardenletFlags) addDuties(mgr manager.Manager, seedCluster cluster.Cluster, factory *controlplane.Factory,
	shoots *shootClients, measured *gardenletMetrics) error {
	runner := &run.Runner{Version: Version, Periods: f.periods, Events: newEvents(mgr, "gardenlet"),
		Metrics: measured.flows, AtWork: &run.AtWork{}}
	empty := &cleanup.Cleaner{Shoots: shoots, Timeout: f.cleanupTimeout, Metrics: measured.cleanup}
	stays, moves := f.flows(empty, releaser{factory.Boottime})
	retry := f.settings.WaitInterval
	add := []func() error{
		func() error {
			return (&operation.Reconciler{Factory: factory, Runner: runner, Flows: stays}).AddToManager(mgr, "shoot", workers)
		},
		func() error {
			return (&operation.Reconciler{Factory: factory, Runner: runner, Flows: moves}).AddToManager(mgr, "migration",
				workers)
		},
		func() error {
			return (&shoot.InPlaceUpdates{Garden: factory.Garden, Seed: factory.Seed,
				SeedName: f.settings.SeedName}).AddToManager(mgr, seedCluster)
		},
		func() error {
			return (&migration.SourceCleanup{Factory: factory, Events: runner.Events, Retry: retry}).AddToManager(mgr, workers)
		},
		func() error {
			return (&migration.Abandoned{Factory: factory, Period: 10 * retry}).AddToManager(mgr)
		},
		func() error {
			return (&migration.StateSync{Factory: factory, AtWork: runner.AtWork,
				Period: f.cadence.Sync}).AddToManager(mgr, seedCluster, workers)
		},
		func() error {
			return (&migration.BackupBuckets{Garden: factory.Garden, Seed: factory.Seed, Clock: factory.Clock,
				SeedName: f.settings.SeedName, Extensions: f.settings.BackupExtensions,
				Retry: retry}).AddToManager(mgr, seedCluster)
		},
		func() error {
			return (&migration.BackupEntries{Garden: factory.Garden, Seed: factory.Seed, Clock: factory.Clock,
				SeedName: f.settings.SeedName, Extensions: f.settings.BackupExtensions,
				Retry: retry}).AddToManager(mgr, seedCluster, workers)
		},
	}
	for _, a := range add {
		if err := a(); err != nil {
			return err
		}
	}
	return nil
}

// flows are those of shoots that stay and of shoots that move. Each part has a controller with workers of its own, so
// that neither waits for the other (docs/adr/0021-one-reconciler-two-controllers.md).
func (f *gardenletFlags) flows(empty shoot.Cleanup, release migration.Releaser) (stays, moves operation.Table) {
	staying, moving := &shoot.Flows{Cadence: f.cadence, Cleanup: empty}, &migration.Flows{Release: release}
	stays = operation.Table{
		gardencorev1beta1.LastOperationTypeCreate:    staying.Reconcile,
		gardencorev1beta1.LastOperationTypeReconcile: staying.Reconcile,
		gardencorev1beta1.LastOperationTypeDelete:    staying.Delete,
	}
	moves = operation.Table{
		gardencorev1beta1.LastOperationTypeMigrate: moving.Migrate,
		gardencorev1beta1.LastOperationTypeRestore: moving.Restore,
	}
	return stays, moves
}

// heartbeat hears from the manager's watch when the Seed changes; it beats without that watch, too.
func (f *gardenletFlags) heartbeat(ctx context.Context, mgr manager.Manager, seedConfig *rest.Config,
	factory *controlplane.Factory, pulse *connection.Pulse) (*seed.Heartbeat, error) {
	asks, err := discovery.NewDiscoveryClientForConfig(seedConfig)
	if err != nil {
		return nil, fmt.Errorf("make the client for the seed's version: %w", err)
	}
	h := &seed.Heartbeat{
		Garden: factory.Garden, Seed: factory.Seed, Clock: factory.Clock,
		SeedName: f.settings.SeedName, Version: Version, Interval: f.leaseInterval, Alive: pulse.Last,
		KubernetesVersion: func(ctx context.Context) (string, error) {
			version, err := asks.ServerVersionWithContext(ctx)
			if err != nil {
				return "", err
			}
			return version.GitVersion, nil
		},
	}
	return h, ringFor(ctx, mgr.GetCache(), &gardencorev1beta1.Seed{}, func(o client.Object, _ bool) {
		if o.GetName() == f.settings.SeedName {
			h.Reported(o)
		}
	})
}

// callsPerSecond of a program: the waits of a flow come in bursts.
const callsPerSecond = 200

// callTimeout bounds one call of a flow, so that who accepts it and never answers costs one try. An API server ends a
// request that is no watch after as long.
const callTimeout = time.Minute

func readOptional(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	return os.ReadFile(path)
}
