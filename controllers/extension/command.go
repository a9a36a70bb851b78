package extension

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
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/operatingsystem"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

type flags struct {
	kubeconfig, cloudKubeconfig string
	seedName                    string
	heartbeatNamespace          string
	healthInterval              time.Duration
	timing                      ownership.Timing
	metricsAddress              string
	webhookHost, webhookCertDir string
	except                      []string
}

const (
	program = "extensions"
	// callsPerSecond are those that each API server gets at most.
	callsPerSecond = 200
	// heartbeatInterval is how often the heartbeat Lease is renewed.
	heartbeatInterval = 30 * time.Second
	// workers is how many objects of a kind are worked on at a time.
	workers = 10
)

// NewCommand is `transplant extensions`: the reference provider of one seed.
func NewCommand() *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use: program, Short: "Run the reference provider of a seed", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	set := command.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the seed; empty for the service account of the pod")
	set.StringVar(&f.cloudKubeconfig, "cloud-kubeconfig", "", "kubeconfig file of the cloud's API")
	set.StringVar(&f.seedName, "seed-name", "", "name of the Seed; guards see it in this program's name")
	set.StringVar(&f.heartbeatNamespace, "heartbeat-namespace", "",
		"namespace of the heartbeat Lease; empty for no heartbeat")
	set.DurationVar(&f.healthInterval, "health-check-interval", 30*time.Second,
		"how often the program writes health conditions; 0 for never")
	set.DurationVar(&f.timing.Interval, "owner-check-interval", ownership.DefaultTiming.Interval,
		"how often the program asks the guard of a shoot that it works on, or, if no guard runs, reads the owner record")
	set.DurationVar(&f.timing.Timeout, "owner-check-timeout", ownership.DefaultTiming.Timeout,
		"if no guard runs, how long an owner record is valid after it was read; the same as the timeout of the guards")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	set.StringVar(&f.webhookHost, "webhook-host", "",
		"address of this pod, where the seed's API server calls the webhooks for OperatingSystemConfigs; empty for none")
	set.StringVar(&f.webhookCertDir, "webhook-cert-dir", "",
		"folder with tls.crt and tls.key, the certificate of the webhook server")
	set.StringSliceVar(&f.except, "except", nil,
		"kinds that another extension of the seed reconciles for this provider type, such as Infrastructure,Worker")
	utilruntime.Must(command.MarkFlagRequired("cloud-kubeconfig")) // the flag is defined above
	return command
}

// scheme has the kinds that the reference provider reads and writes.
func scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(gardencorev1beta1.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(scheme))
	utilruntime.Must(resourcesv1alpha1.AddToScheme(scheme))
	return scheme
}

func (f *flags) run(ctx context.Context) error {
	ctrl.SetLogger(klog.Background())
	for _, kind := range f.except {
		if _, known := extensionsv1alpha1.KindByName(kind); !known {
			return fmt.Errorf("--except %s: there is no such kind in %s", kind, extensionsv1alpha1.SchemeGroupVersion)
		}
	}
	if err := f.timing.Validate(); err != nil {
		return err
	}
	config, err := connection.Load(f.kubeconfig, program, callsPerSecond)
	if err != nil {
		return err
	}
	cloudConfig, err := connection.Load(f.cloudKubeconfig, program, callsPerSecond)
	if err != nil {
		return err
	}
	cloudClient, err := fence.Guarded(cloudConfig)
	if err != nil {
		return err
	}
	// Where no guard runs the decision is read as guards read it.
	dns, err := cloud.New(ownership.ReadConfig(cloudConfig), cloud.Options{})
	if err != nil {
		return err
	}
	boot, err := ownership.NewBootClock()
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(nil, config); err != nil {
		return err
	}
	mgr, err := newManager(config, f.metricsAddress)
	if err != nil {
		return err
	}
	guards := &fence.GuardFence{
		Seed: mgr.GetClient(), Clock: boot, Timing: f.timing, Idle: time.Minute,
		Name: program + "-" + f.seedName + "-" + rand.String(6),
		Decision: func(record string) ownership.Authority {
			// Each finds its zone by itself: one that DNS keeps waiting holds up no other shoot.
			return &ownership.TXTAuthority{Records: &ownership.CloudTXT{Client: dns}, Name: record}
		},
	}
	defer guards.Close()
	provider := &provider{Seed: mgr.GetClient(), Known: mgr.GetCache(), Cloud: cloudClient, Fence: guards,
		Clock: clock.RealClock{}, Except: f.except}
	options := contract.Options{Type: reference.Type, MaxConcurrentReconciles: workers}
	if err := provider.AddToManager(mgr, options); err != nil {
		return err
	}
	if err := f.addRunnables(mgr, provider); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (f *flags) addRunnables(mgr manager.Manager, provider *provider) error {
	if f.healthInterval > 0 {
		if err := mgr.Add(&health{provider: provider, Clock: clock.RealClock{}, Every: f.healthInterval}); err != nil {
			return err
		}
	}
	if f.webhookHost != "" {
		webhook := &operatingsystem.Webhook{Host: f.webhookHost, CertDir: f.webhookCertDir, Seed: mgr.GetClient()}
		if err := webhook.AddToManager(mgr); err != nil {
			return err
		}
	}
	if f.heartbeatNamespace == "" {
		return nil
	}
	return mgr.Add(&contract.Heartbeat{
		Client: mgr.GetClient(), Clock: clock.RealClock{}, Extension: "provider-" + reference.Type,
		Namespace: f.heartbeatNamespace, Every: heartbeatInterval,
	})
}

// newManager makes a manager whose client reads from the API server, as package contract demands.
func newManager(config *rest.Config, metricsAddress string) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme(), HealthProbeBindAddress: "0", Metrics: metricsserver.At(metricsAddress),
		NewClient: connection.Live(fence.CallTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager on the seed: %w", err)
	}
	return mgr, nil
}
