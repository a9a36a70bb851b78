package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/admission"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/managedseed"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/migration"
	"github.com/transplant-sim/transplant/controllers/migration/savedstate"
	"github.com/transplant-sim/transplant/controllers/migration/secondsign"
	"github.com/transplant-sim/transplant/controllers/project"
	"github.com/transplant-sim/transplant/controllers/scheduler"
	"github.com/transplant-sim/transplant/controllers/seed"
)

type gardenControllerManagerFlags struct {
	kubeconfig     string
	cloud          string
	metricsAddress string
	waitInterval   time.Duration
	webhook        admission.Options
	webhookService string
	// admissionConfig is a file with what Gardener's API server is given as --admission-control-config-file.
	admissionConfig string

	seedMonitorPeriod, seedLossGracePeriod time.Duration
	evacuation                             string
	evacuationAtOnce                       int
	evacuationSecondSign                   bool
	shootProxyURL, shootProxyCA            string

	maintenance              maintenance.Config
	retryPeriod, retryJitter time.Duration
}

// Values of --evacuation.
const evacuationAutomatic, evacuationManual = "automatic", "manual"

// NewGardenControllerManager is `transplant garden-controller-manager`.
func NewGardenControllerManager() *cobra.Command { return (&gardenControllerManagerFlags{}).command() }

func (f *gardenControllerManagerFlags) command() *cobra.Command {
	command := &cobra.Command{
		Use: "garden-controller-manager", Short: "Run the garden's controllers and admission webhooks", Args: cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	command.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the garden")
	command.Flags().StringVar(&f.cloud, "cloud-kubeconfig", "",
		"kubeconfig file of the cloud's API, whose token has the role policies; empty if the cloud needs no policies")
	command.Flags().StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	command.Flags().DurationVar(&f.waitInterval, "wait-interval", 5*time.Second,
		"how often a wait checks again if no watch wakes it")
	command.Flags().StringVar(&f.webhook.Host, "webhook-host", "",
		"address where the garden calls the webhook server")
	command.Flags().StringVar(&f.webhookService, "webhook-service", "",
		"namespace/name of the Service by which the garden calls the webhook server, on the same port; empty for its address")
	command.Flags().DurationVar(&f.seedMonitorPeriod, "seed-monitor-period", 40*time.Second,
		"maximum age of a seed's lease; then the conditions of the seed become Unknown")
	command.Flags().DurationVar(&f.seedLossGracePeriod, "seed-loss-grace-period", 5*time.Minute,
		"how long a seed may not renew its lease before its shoots are evacuated")
	command.Flags().StringVar(&f.evacuation, "evacuation", evacuationAutomatic,
		"automatic, or manual: operators choose the new seed for each shoot of a lost seed")
	command.Flags().IntVar(&f.evacuationAtOnce, "evacuation-at-once", migration.DefaultAtOnce,
		"number of shoots that one destination seed restores at the same time")
	f.secondSignFlags(command)
	command.Flags().BoolVar(&f.webhook.InPlaceUpdates, "in-place-updates", false,
		"admit new worker pools whose nodes are updated in place (Gardener's feature gate InPlaceNodeUpdates)")
	command.Flags().StringVar(&f.admissionConfig, "admission-control-config-file", "",
		"file with Gardener's AdmissionConfiguration; the program reads the configuration of the plugin "+
			toleration.Plugin+": tolerations that new shoots of all projects get by default, and that they may have")
	f.maintenanceFlags(command)
	utilruntime.Must(command.MarkFlagRequired("kubeconfig")) // the flag is defined above
	return command
}

func (f *gardenControllerManagerFlags) secondSignFlags(command *cobra.Command) {
	set := command.Flags()
	set.BoolVar(&f.evacuationSecondSign, "evacuation-second-sign", false,
		"evacuate a shoot only if its API server does not answer either, for the grace period; if only the garden cannot "+
			"reach a seed, the seed keeps its shoots")
	set.StringVar(&f.shootProxyURL, "shoot-proxy-url", "", "HTTP proxy to the shoots; empty for none")
	set.StringVar(&f.shootProxyCA, "shoot-proxy-ca-file", "",
		"file of the proxy's certificate authority, if the proxy terminates TLS")
}

func (f *gardenControllerManagerFlags) maintenanceFlags(command *cobra.Command) {
	set := command.Flags()
	set.BoolVar(&f.maintenance.RestartControlPlane, "maintenance-restarts-control-planes", true,
		"restart the pods of a shoot's control plane during its maintenance")
	set.BoolVar(&f.maintenance.RestartCoreAddons, "maintenance-restarts-core-addons", false,
		"restart a shoot's system components during its maintenance")
	set.BoolVar(&f.maintenance.DisableNginxIngress, "maintenance-disables-nginx-ingress", false,
		"disable the nginx addon of a shoot during its maintenance")
	set.DurationVar(&f.retryPeriod, "shoot-retry-period", maintenance.DefaultRetryPeriod,
		"after how long a shoot is retried that failed because the cloud throttled it")
	set.DurationVar(&f.retryJitter, "shoot-retry-jitter", maintenance.DefaultRetryJitter,
		"maximum random time to add to --shoot-retry-period")
}

func (f *gardenControllerManagerFlags) run(ctx context.Context) error {
	if f.evacuation != evacuationAutomatic && f.evacuation != evacuationManual {
		return fmt.Errorf("parse --evacuation %q: want %q or %q", f.evacuation, evacuationAutomatic, evacuationManual)
	}
	if f.seedLossGracePeriod < f.seedMonitorPeriod {
		return fmt.Errorf("--seed-loss-grace-period %v is shorter than --seed-monitor-period %v", f.seedLossGracePeriod,
			f.seedMonitorPeriod)
	}
	setUpLogs()
	config, err := connection.Load(f.kubeconfig, "garden-controller-manager", callsPerSecond)
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(config, nil); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: gardenScheme(), Metrics: metricsserver.At(f.metricsAddress), HealthProbeBindAddress: "0",
		Cache: heartbeatsOnly(),
	})
	if err != nil {
		return fmt.Errorf("make the manager on the garden: %w", err)
	}
	garden, err := client.New(config, client.Options{Scheme: gardenScheme()})
	if err != nil {
		return fmt.Errorf("make the client of the garden: %w", err)
	}
	if err := f.addDuties(mgr, garden); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// heartbeatsOnly lets caches have, of all Leases, those of seeds: shoots have more.
func heartbeatsOnly() crcache.Options {
	return crcache.Options{ByObject: map[client.Object]crcache.ByObject{
		&coordinationv1.Lease{}: {Namespaces: map[string]crcache.Config{constants.SeedLeaseNamespace: {}}},
	}}
}

// completeWebhook fills in what of the admission's options is no flag itself.
func (f *gardenControllerManagerFlags) completeWebhook(garden client.Client) (err error) {
	f.webhook.Garden = garden
	if f.webhookService != "" {
		namespace, name, err := cache.SplitMetaNamespaceKey(f.webhookService)
		if err != nil || namespace == "" {
			return fmt.Errorf("parse --webhook-service %q: want namespace/name", f.webhookService)
		}
		f.webhook.Service = &types.NamespacedName{Namespace: namespace, Name: name}
	}
	if f.admissionConfig != "" {
		if f.webhook.Tolerations, err = toleration.Read(f.admissionConfig); err != nil {
			return fmt.Errorf("parse --admission-control-config-file: %w", err)
		}
	}
	return nil
}

func (f *gardenControllerManagerFlags) addDuties(mgr manager.Manager, garden client.Client) error {
	if err := f.completeWebhook(garden); err != nil {
		return err
	}
	if err := admission.AddToManager(mgr, f.webhook); err != nil {
		return err
	}
	if err := (&scheduler.Reconciler{Garden: garden, Clock: clock.RealClock{},
		Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&migration.Readiness{Garden: garden, Clock: clock.RealClock{},
		Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&savedstate.Protection{Garden: garden, Clock: clock.RealClock{},
		Recheck: 10 * f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&project.Phase{Garden: mgr.GetClient()}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&managedseed.Reconciler{Garden: mgr.GetClient(), Clock: clock.RealClock{},
		Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := f.addMaintenance(mgr, garden); err != nil {
		return err
	}
	if err := addCare(mgr, garden); err != nil {
		return err
	}
	return f.addSeedLoss(mgr, garden)
}

// addMaintenance adds what looks after shoots that nobody looks after (docs/specification/versions.md#spec-4-6,
// docs/specification/care.md#spec-5-9).
func (f *gardenControllerManagerFlags) addMaintenance(mgr manager.Manager, garden client.Client) error {
	events := newEvents(mgr, "shoot-maintenance")
	measured, err := maintenance.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of maintenance: %w", err)
	}
	maintains := &maintenance.Reconciler{Garden: garden, Clock: clock.RealClock{}, Events: events, Config: f.maintenance,
		Metrics: measured}
	if err := maintains.AddToManager(mgr); err != nil {
		return err
	}
	return f.retry(garden).AddToManager(mgr)
}

func (f *gardenControllerManagerFlags) retry(garden client.Client) *maintenance.Retry {
	return &maintenance.Retry{Garden: garden, Clock: clock.RealClock{}, Period: f.retryPeriod, Jitter: f.retryJitter}
}

func (f *gardenControllerManagerFlags) evacuations(garden client.Client) *migration.Evacuation {
	return &migration.Evacuation{
		Garden: garden, Clock: clock.RealClock{}, AtOnce: f.evacuationAtOnce, Manual: f.evacuation == evacuationManual,
		Grace: f.seedLossGracePeriod - f.seedMonitorPeriod, Interval: f.seedMonitorPeriod / 5,
	}
}

// addPolicies adds the controller that tells the cloud which seed may take a shoot over (docs/ownership.md#o5).
func (f *gardenControllerManagerFlags) addPolicies(mgr manager.Manager) error {
	if f.cloud == "" {
		return nil
	}
	config, err := connection.Load(f.cloud, "garden-controller-manager", callsPerSecond)
	if err != nil {
		return err
	}
	store, err := cloud.New(connection.Bounded(config, callTimeout), cloud.Options{})
	if err != nil {
		return err
	}
	policies := &seed.Policies{
		Garden: mgr.GetClient(), Cloud: store, Clock: clock.RealClock{},
		Grace: f.seedLossGracePeriod - f.seedMonitorPeriod, Retry: f.waitInterval,
	}
	return policies.AddToManager(mgr)
}

// addSeedLoss adds what happens when a seed is heard of no more (docs/ownership.md#spec-9-3,
// docs/ownership.md#spec-9-4).
func (f *gardenControllerManagerFlags) addSeedLoss(mgr manager.Manager, garden client.Client) error {
	events := newEvents(mgr, "garden-controller-manager")
	lifecycle := &seed.Lifecycle{Garden: garden, Cached: mgr.GetClient(), Clock: clock.RealClock{},
		Monitor: f.seedMonitorPeriod, Interval: f.seedMonitorPeriod / 5}
	if err := lifecycle.AddToManager(mgr); err != nil {
		return err
	}
	access := &seed.Access{Garden: mgr.GetClient(), Clock: clock.RealClock{},
		Grace: f.seedLossGracePeriod - f.seedMonitorPeriod}
	if err := errors.Join(access.AddToManager(mgr), f.addPolicies(mgr)); err != nil {
		return err
	}
	states := &shootstate.Store{Garden: garden, Clock: clock.RealClock{}}
	if err := (&savedstate.Chunks{States: states}).AddToManager(mgr); err != nil {
		return err
	}
	restore := &migration.ForcedRestore{Garden: garden, States: states, Clock: clock.RealClock{}, Events: events,
		Retry: f.waitInterval}
	if err := restore.AddToManager(mgr); err != nil {
		return err
	}
	evacuation := f.evacuations(garden)
	evacuation.Cached, evacuation.Heartbeats = mgr.GetClient(), lifecycle
	evacuation.States, evacuation.Events = states, events
	if f.evacuationSecondSign {
		shoots, err := newShootClients(f.shootProxyURL, f.shootProxyCA)
		if err != nil {
			return err
		}
		evacuation.Second = &secondsign.Hearing{Garden: garden, Shoots: shoots}
	}
	return evacuation.AddToManager(mgr)
}
