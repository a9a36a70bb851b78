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
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

type flags struct {
	targetKubeconfig, cloudKubeconfig string
	namespace                         string
	guardURL, guardCredentials        string
	metricsAddress                    string
	beside                            []Beside
}

const (
	program = "machine-controller"
	// callsPerSecond are those that each API server gets at most.
	callsPerSecond = 100
	// ownerCheckInterval is how often the guard is asked.
	ownerCheckInterval = time.Second
	// quarantine is how long a machine that no Machine stood for is never deleted.
	quarantine = 24 * time.Hour
	// orphanPeriod is how often machines are looked for that no Machine stands for.
	orphanPeriod = 30 * time.Second
	// workers is how many Machines are worked on at a time.
	workers = 10
)

// Beside adds other controllers of one shoot that call the cloud to the program: they share its connections, and its
// leave to do so.
type Beside func(mgr manager.Manager, shoot *rest.Config, guarded *GuardedCloud) error

// NewCommand is `transplant machine-controller`: the machine controller of one shoot, and what runs beside it.
func NewCommand(beside ...Beside) *cobra.Command {
	f := &flags{beside: beside}
	command := &cobra.Command{
		Use: program, Short: "Run the machine controller of a shoot", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	set := command.Flags()
	set.StringVar(&f.targetKubeconfig, "target-kubeconfig", "", "kubeconfig of the shoot")
	set.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "", "kubeconfig file of the cloud's API")
	set.StringVar(&f.namespace, "namespace", "", "control-plane namespace of the shoot, its technical ID")
	set.StringVar(&f.guardURL, "guard-url", "", "base URL of the API of the shoot's guard")
	set.StringVar(&f.guardCredentials, "guard-credentials", "",
		"folder with the credentials for the guard: ca.crt, tls.crt and tls.key")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	for _, name := range []string{"target-kubeconfig", "cloud-kubeconfig", "namespace", "guard-url", "guard-credentials"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

// ControlScheme has the kinds that are read and written in the seed.
func ControlScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	return scheme
}

func (f *flags) run(ctx context.Context) error {
	ctrl.SetLogger(klog.Background())
	controlConfig, err := connection.Load("", program, callsPerSecond) // that of the pod
	if err != nil {
		return err
	}
	targetConfig, err := connection.Load(f.targetKubeconfig, program, callsPerSecond)
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
		Timeouts: DefaultTimeouts, Quarantine: quarantine, OrphanPeriod: orphanPeriod, Workers: workers,
	}
	if err := controllers.AddToManager(mgr); err != nil {
		return err
	}
	for _, add := range f.beside {
		if err := add(mgr, targetConfig, guarded); err != nil {
			return err
		}
	}
	go guarded.Holder.Run(ctx, ownerCheckInterval, guarded.Revoked)
	if err := mgr.Start(ctx); err != nil {
		return err
	}
	if err := guarded.Leave(context.WithoutCancel(ctx)); err != nil {
		klog.FromContext(ctx).Info("Guard was not informed of the end", "reason", err.Error())
	}
	return nil
}

func (f *flags) cloud() (*GuardedCloud, error) {
	boot, err := ownership.NewBootClock()
	if err != nil {
		return nil, err
	}
	holder, err := validity.NewHolder(f.guardURL, program+"-"+rand.String(6), boot,
		access.Transport(access.Folder(f.guardCredentials).Read))
	if err != nil {
		return nil, err
	}
	cloudConfig, err := connection.Load(f.cloudKubeconfig, program, callsPerSecond)
	if err != nil {
		return nil, err
	}
	cloudClient, err := cloud.New(connection.Bounded(cloudConfig, connection.CallTimeout), cloud.Options{})
	if err != nil {
		return nil, err
	}
	return &GuardedCloud{Client: cloudClient, Holder: holder, Shoot: f.namespace}, nil
}

// NewManager makes a manager for one namespace of the seed, whose client reads from the API server.
func NewManager(config *rest.Config, namespace, metricsAddress string) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: ControlScheme(), HealthProbeBindAddress: "0", Metrics: metricsserver.At(metricsAddress),
		Cache:     cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		NewClient: connection.Live(connection.CallTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager on the seed: %w", err)
	}
	return mgr, nil
}
