package actors

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/hibernation"
)

// careFlags are the gardenlet's settings of care (docs/specification/care.md#spec-5-1,
// docs/specification/care.md#spec-5-3, docs/specification/care.md#spec-5-7).
type careFlags struct {
	syncPeriod, staleExtensions, progressing time.Duration
	thresholds                               map[string]string
	remediate                                bool
	extensionNamespaces                      map[string]string
}

func (f *careFlags) add(set *pflag.FlagSet) {
	set.DurationVar(&f.syncPeriod, "care-sync-period", care.DefaultSyncPeriod, "how often care checks a shoot")
	set.StringToStringVar(&f.thresholds, "care-condition-thresholds", map[string]string{
		"APIServerAvailable": "1m", "ControlPlaneHealthy": "1m", "ObservabilityComponentsHealthy": "1m",
		"SystemComponentsHealthy": "1m", "EveryNodeReady": "5m",
	}, "how long each condition is Progressing before it is False")
	set.DurationVar(&f.staleExtensions, "care-stale-extension-threshold", health.DefaultStaleExtensions,
		"maximum age of an extension's heartbeat; then its health reports no longer count; 0 for no limit")
	set.DurationVar(&f.progressing, "care-managed-resource-progressing-threshold",
		health.DefaultProgressingManagedResources,
		"how long a ManagedResource may progress before it counts as unhealthy")
	set.StringToStringVar(&f.extensionNamespaces, "extension-namespace", nil,
		"in which namespace of the seed the controller of a kind and type shows its heartbeat: Network/calico=NAMESPACE; "+
			extensionNamespace+" for all others")
	set.BoolVar(&f.remediate, "care-webhook-remediator", false,
		"change webhooks in shoots that could keep nodes from joining")
}

// read checks the flags, and gives back the thresholds. A threshold that is for no condition is one that another lacks.
func (f *careFlags) read() (map[gardencorev1beta1.ConditionType]time.Duration, error) {
	if f.syncPeriod <= 0 {
		return nil, fmt.Errorf("read --care-sync-period: %s is no period: give one above zero, for example 1m", f.syncPeriod)
	}
	thresholds, known := map[gardencorev1beta1.ConditionType]time.Duration{}, health.ConditionTypes()
	for _, kind := range slices.Sorted(maps.Keys(f.thresholds)) {
		threshold, err := time.ParseDuration(f.thresholds[kind])
		if err != nil || threshold < 0 {
			return nil, fmt.Errorf(
				"read --care-condition-thresholds: the threshold %q of %s is no duration: give one such as 1m", f.thresholds[kind],
				kind)
		}
		if !slices.Contains(known, gardencorev1beta1.ConditionType(kind)) {
			return nil, fmt.Errorf("read --care-condition-thresholds: there is no condition %q: choose of %v", kind, known)
		}
		thresholds[gardencorev1beta1.ConditionType(kind)] = threshold
	}
	return thresholds, nil
}

func (f *careFlags) addToManager(mgr manager.Manager, seed cluster.Cluster, factory *controlplane.Factory,
	shoots scope.ShootConfigs, workers int, measured *care.Metrics) error {
	thresholds, err := f.read()
	if err != nil {
		return err
	}
	reconciler := &care.Reconciler{
		Factory: factory, Seed: seed.GetCache(), Shoots: shoots, SyncPeriod: f.syncPeriod,
		RemediateWebhooks: f.remediate, ExtensionNamespace: extensionNamespace, Metrics: measured,
		ExtensionNamespaces: f.extensionNamespaces,
		Config:              f.config(thresholds),
	}
	return reconciler.AddToManager(mgr, workers)
}

// extensionNamespace is where the reference provider shows its heartbeat in the seed.
const extensionNamespace = "extensions"

// config is what care goes by.
func (f *careFlags) config(thresholds map[gardencorev1beta1.ConditionType]time.Duration) health.Config {
	return health.Config{
		Thresholds: thresholds, StaleExtensions: f.staleExtensions, ProgressingManagedResources: f.progressing,
		Components: health.Components{
			Etcds: []string{workload.Etcd},
			Always: []string{
				workload.KubeAPIServer, workload.ControllerManager,
				workload.ResourceManager,
			},
			WithWorkers:   []string{workload.Scheduler, workload.MachineController},
			WithRealNodes: []string{workload.VPNSeedServer},
		},
	}
}

// hibernationRetry is when a shoot is tried again that its schedule may not put to sleep.
const hibernationRetry = time.Minute

// addCare adds the garden's part of care: the label with the overall status, and the schedules that care may hold back.
func addCare(mgr manager.Manager, garden client.Client) error {
	if err := (&care.Labeler{Garden: mgr.GetClient()}).AddToManager(mgr); err != nil {
		return err
	}
	schedules := &hibernation.Reconciler{
		Garden: garden, Clock: clock.RealClock{}, Events: newEvents(mgr, "garden-controller-manager"),
		Retry: hibernationRetry,
	}
	return schedules.AddToManager(mgr)
}
