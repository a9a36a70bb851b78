package resource

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

type flags struct {
	targetKubeconfig          string
	namespace, metricsAddress string
	further                   []Further
}

const (
	// syncPeriod is how often objects are applied again when nothing has changed.
	syncPeriod = time.Minute
	// pollPeriod is how often objects are looked at that are being deleted or are not healthy yet.
	pollPeriod = 2 * time.Second
	// workers is how many ManagedResources are worked on at a time.
	workers = 5
	// callsPerSecond are those that each API server gets at most.
	callsPerSecond = 100
)

// Further is a controller of the shoot that runs in the same program.
type Further func(mgr manager.Manager, shoot *rest.Config) error

// NewCommand is `transplant gardener-resource-manager`: the resource manager of one shoot.
func NewCommand(further ...Further) *cobra.Command {
	f := &flags{further: further}
	command := &cobra.Command{
		Use: "gardener-resource-manager", Short: "Run the resource manager of a shoot", Args: cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	set := command.Flags()
	set.StringVar(&f.targetKubeconfig, "target-kubeconfig", "", "kubeconfig of the shoot")
	set.StringVar(&f.namespace, "namespace", "", "control-plane namespace of the shoot")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	for _, name := range []string{"target-kubeconfig", "namespace"} {
		utilruntime.Must(command.MarkFlagRequired(name)) // the flag is defined above
	}
	return command
}

func (f *flags) run(ctx context.Context) error {
	ctrl.SetLogger(klog.Background())
	control, err := connection.Load("", FieldOwner, callsPerSecond) // that of the pod
	if err != nil {
		return err
	}
	target, err := connection.Load(f.targetKubeconfig, FieldOwner, callsPerSecond)
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(nil, control); err != nil {
		return err
	}
	mgr, err := NewManager(control, f.namespace, f.metricsAddress)
	if err != nil {
		return err
	}
	reconciler := &Reconciler{Clock: clock.RealClock{}, SyncPeriod: syncPeriod, PollPeriod: pollPeriod}
	if err := reconciler.AddToManager(mgr, target, workers); err != nil {
		return err
	}
	for _, add := range f.further {
		if err := add(mgr, target); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}
