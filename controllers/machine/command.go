package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

type flags struct {
	controlKubeconfig, targetKubeconfig, cloudKubeconfig string
	namespace, guardURL                                  string
	ownerCheckInterval                                   time.Duration
	quarantine, orphanPeriod                             time.Duration
	timeouts                                             Timeouts
	workers                                              int
	metricsAddress                                       string
	beside                                               []Beside
}

// Beside adds other controllers of one shoot that call the cloud to the program: they share its connections, and its
// leave to do so.
type Beside func(mgr manager.Manager, shoot *rest.Config, guarded *GuardedCloud) error

// NewCommand is `transplant machine-controller`: the machine controller of one shoot, and what runs beside it.
func NewCommand(beside ...Beside) *cobra.Command {
	f := &flags{beside: beside}
	command := &cobra.Command{
		Use: "machine-controller", Short: "Run the machine controller of a shoot", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	set := command.Flags()
	set.StringVar(&f.controlKubeconfig, "control-kubeconfig", "", "kubeconfig of the seed; empty for that of the pod")
	set.StringVar(&f.targetKubeconfig, "target-kubeconfig", "", "kubeconfig of the shoot")
	set.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "", "kubeconfig file of the cloud's API")
	set.StringVar(&f.namespace, "namespace", "", "control-plane namespace of the shoot, which is its technical id")
	set.StringVar(&f.guardURL, "guard-url", "", "base URL of the HTTP server of the shoot's guard")
	set.DurationVar(&f.ownerCheckInterval, "owner-check-interval", time.Second, "how often the guard is asked")
	set.DurationVar(&f.timeouts.Creation, "machine-creation-timeout", DefaultTimeouts.Creation, "how long a machine may take to become a node")
	set.DurationVar(&f.timeouts.Health, "machine-health-timeout", DefaultTimeouts.Health, "how long a node may be unhealthy before its machine is replaced")
	set.DurationVar(&f.timeouts.Drain, "machine-drain-timeout", DefaultTimeouts.Drain, "how long a node is drained before its machine is ended anyway")
	set.DurationVar(&f.timeouts.InPlaceUpdate, "machine-in-place-update-timeout", DefaultTimeouts.InPlaceUpdate, "how long a drained node may take to be updated in place")
	set.DurationVar(&f.timeouts.Poll, "poll-interval", DefaultTimeouts.Poll, "how often a machine that is waited for is looked at")
	set.DurationVar(&f.timeouts.Check, "health-check-interval", DefaultTimeouts.Check, "how often a healthy machine is looked at when no event wakes")
	set.DurationVar(&f.quarantine, "orphan-quarantine", 24*time.Hour, "how long a machine that no Machine stood for is never deleted")
	set.DurationVar(&f.orphanPeriod, "safety-orphan-vms-period", 30*time.Second, "how often machines are looked for that no Machine stands for")
	set.IntVar(&f.workers, "concurrent-syncs", 10, "how many Machines are worked on at a time")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	for _, name := range []string{"target-kubeconfig", "cloud-kubeconfig", "namespace", "guard-url"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return command
}

// ControlScheme has the kinds that are read and written in the seed.
func ControlScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(scheme))
	return scheme
}

func (f *flags) run(ctx context.Context) error {
	ctrl.SetLogger(klog.Background())
	controlConfig, err := load(f.controlKubeconfig)
	if err != nil {
		return err
	}
	targetConfig, err := load(f.targetKubeconfig)
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(nil, controlConfig); err != nil {
		return err
	}
	guarded, err := f.cloud()
	if err != nil {
		return err
	}
	mgr, err := NewManager(controlConfig, f.namespace, f.metricsAddress)
	if err != nil {
		return err
	}
	controllers := &Controllers{
		TargetConfig: targetConfig, Cloud: guarded, Owner: guarded, Namespace: f.namespace, Clock: clock.RealClock{},
		Timeouts: f.timeouts, Quarantine: f.quarantine, OrphanPeriod: f.orphanPeriod, Workers: f.workers,
	}
	if err := controllers.AddToManager(mgr); err != nil {
		return err
	}
	for _, add := range f.beside {
		if err := add(mgr, targetConfig, guarded); err != nil {
			return err
		}
	}
	go guarded.Holder.Run(ctx, f.ownerCheckInterval, guarded.Revoked)
	if err := mgr.Start(ctx); err != nil {
		return err
	}
	if err := guarded.Leave(context.WithoutCancel(ctx)); err != nil {
		klog.FromContext(ctx).Info("Guard was not told of the end", "reason", err.Error())
	}
	return nil
}

func (f *flags) cloud() (*GuardedCloud, error) {
	boot, err := ownership.NewBootClock()
	if err != nil {
		return nil, err
	}
	holder, err := ownership.NewHolder(f.guardURL, "machine-controller-"+rand.String(6), boot, nil)
	if err != nil {
		return nil, err
	}
	cloudConfig, err := load(f.cloudKubeconfig)
	if err != nil {
		return nil, err
	}
	cloudClient, err := cloud.New(bounded(cloudConfig), cloud.Options{})
	if err != nil {
		return nil, err
	}
	return &GuardedCloud{Client: cloudClient, Holder: holder, Shoot: f.namespace}, nil
}

// NewManager makes a manager for one namespace of the seed, whose client reads from the API server.
func NewManager(config *rest.Config, namespace, metricsAddress string) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: ControlScheme(), HealthProbeBindAddress: "0", Metrics: metricsserver.At(metricsAddress),
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			options.HTTPClient = nil
			return client.New(bounded(config), options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager on the seed: %w", err)
	}
	return mgr, nil
}

// callTimeout bounds one call, so that one that was swallowed does not hold up an object.
const callTimeout = 20 * time.Second

// bounded is for clients that do not watch.
func bounded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = callTimeout
	return config
}

func load(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %q: %w", path, err)
	}
	config.UserAgent = "machine-controller" // the managers of an object tell who has written it
	config.QPS, config.Burst = 100, 200
	return config, nil
}
