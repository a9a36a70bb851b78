// Command extensions is six small extension controllers that behave as those of the field do: an operating system, a
// network, a container runtime, DNS, certificates, and a provider. Each is a class, the first argument. They are plain
// controller-runtime on the API types, and use nothing of ours but those and the client of the cloud.
//
// They are examples for authors (docs/extensions), and what the tests run in scenarios of the catalogue. They are not
// the reference provider, and nothing of the product depends on them.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// classes are the extensions, by the first argument.
var classes = map[string]func(*program) error{
	"operating-system":  addOperatingSystem,
	"network":           addNetwork,
	"container-runtime": addContainerRuntime,
	"dns":               addDNS,
	"certificates":      addCertificates,
	"provider":          addProvider,
}

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 || classes[args[0]] == nil {
		return fmt.Errorf("the first argument must be one of %q", slices.Sorted(maps.Keys(classes)))
	}
	p, err := newProgram(args[0], args[1:])
	if err != nil {
		return err
	}
	if err := classes[args[0]](p); err != nil {
		return fmt.Errorf("add the controllers of class %s: %w", args[0], err)
	}
	return p.manager.Start(ctrl.SetupSignalHandler())
}

// program is what the controllers of a class have in common.
type program struct {
	client.Client               // reads from the API server, not from a cache
	cached        client.Reader // reads from a cache, which may be late
	manager       manager.Manager
	config        configuration
	class, seed   string
	namespace     string
	address       string // of the pod
	planted       bug
	clock         clock.PassiveClock
}

// configuration is the file that --config names.
type configuration struct {
	// LeaderElection is that of controller-runtime if it says nothing: 15 s, 10 s and 2 s.
	LeaderElection struct {
		LeaseDuration *metav1.Duration `json:"leaseDuration"`
		RenewDeadline *metav1.Duration `json:"renewDeadline"`
		RetryPeriod   *metav1.Duration `json:"retryPeriod"`
	} `json:"leaderElection"`
	// Heartbeat is the time between two renewals of the Lease gardener-extension-heartbeat.
	Heartbeat metav1.Duration `json:"heartbeat"`
	// HealthCheck is the time between two reports of conditions.
	HealthCheck metav1.Duration `json:"healthCheck"`
	// Settings of the class, such as the name servers of dns.
	Settings map[string]string `json:"settings"`
}

// newProgram reads flags and configuration, and makes the manager.
func newProgram(class string, args []string) (*program, error) {
	flags := flag.NewFlagSet(class, flag.ContinueOnError)
	file := flags.String("config", "", "configuration file; required")
	metrics := flags.String("metrics-bind-address", "0", "where metrics are served")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	p := &program{class: class, clock: clock.RealClock{}, seed: os.Getenv("SEED_NAME"),
		namespace: os.Getenv("POD_NAMESPACE"), address: os.Getenv("POD_IP")}
	content, err := os.ReadFile(*file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration that --config names: %w", err)
	}
	if err := yaml.UnmarshalStrict(content, &p.config); err != nil {
		return nil, fmt.Errorf("read the configuration %s: %w", *file, err)
	}
	if p.config.Heartbeat.Duration < time.Second || p.config.HealthCheck.Duration < time.Second {
		return nil, fmt.Errorf("read the configuration %s: heartbeat and healthCheck must be 1s or more", *file)
	}
	if p.planted, err = bugOf(class, os.Getenv("PLANTED_BUG")); err != nil {
		return nil, err
	}
	return p, p.manage(*metrics)
}

func (p *program) manage(metrics string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme,
		machinev1alpha1.AddToScheme, resourcesv1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the kubeconfig: %w", err)
	}
	duration := func(d *metav1.Duration) *time.Duration {
		if d == nil {
			return nil
		}
		return &d.Duration
	}
	election := p.config.LeaderElection
	p.manager, err = ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: metrics},
		LeaderElection: true, LeaderElectionID: p.class, LeaderElectionNamespace: os.Getenv("LEADER_ELECTION_NAMESPACE"),
		LeaseDuration: duration(election.LeaseDuration), RenewDeadline: duration(election.RenewDeadline),
		RetryPeriod: duration(election.RetryPeriod),
		// A cache may not know yet what we have written before.
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	p.Client, p.cached = p.manager.GetClient(), p.manager.GetCache()
	return p.manager.Add(manager.RunnableFunc(p.beat))
}

// heartbeatLease is the Lease by which the gardenlet knows that conditions on objects are not outdated.
const heartbeatLease = "gardener-extension-heartbeat"

// beat renews the Lease of the heartbeat while the process leads.
func (p *program) beat(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: heartbeatLease}}
		err := p.Get(ctx, client.ObjectKeyFromObject(lease), lease)
		lease.Spec = coordinationv1.LeaseSpec{
			HolderIdentity:       ptr.To(p.class),
			LeaseDurationSeconds: ptr.To(int32(p.config.Heartbeat.Seconds())),
			RenewTime:            ptr.To(metav1.NowMicro()),
		}
		if apierrors.IsNotFound(err) {
			err = p.Create(ctx, lease)
		} else if err == nil {
			err = p.Update(ctx, lease)
		}
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "the heartbeat was not renewed")
		}
	}, p.config.Heartbeat.Duration)
	return nil
}
