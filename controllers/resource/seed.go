package resource

import (
	"context"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/connection"
	"github.com/transplant-sim/transplant/controllers/metricsserver"
)

// NewSeedCommand is `transplant resource-manager`: the resource manager of a seed, for ManagedResources of class
// seed. Where it may apply objects is up to its rights.
func NewSeedCommand() *cobra.Command {
	var kubeconfig, metricsAddress string
	command := &cobra.Command{
		Use: "resource-manager", Short: "Run the resource manager of a seed", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			return runOnSeed(ctrl.SetupSignalHandler(), kubeconfig, metricsAddress)
		},
	}
	set := command.Flags()
	set.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the seed")
	set.StringVar(&metricsAddress, "metrics-bind-address", "0", "address of the metrics server; 0 for none")
	utilruntime.Must(command.MarkFlagRequired("kubeconfig")) // the flag is defined above
	return command
}

func runOnSeed(ctx context.Context, kubeconfig, metricsAddress string) error {
	ctrl.SetLogger(klog.Background())
	config, err := connection.Load(kubeconfig, FieldOwnerInSeed, callsPerSecond)
	if err != nil {
		return err
	}
	if err := metricsserver.NameHosts(nil, config); err != nil {
		return err
	}
	mgr, err := NewManager(config, "", metricsAddress)
	if err != nil {
		return err
	}
	r := &Reconciler{Class: resourcesv1alpha1.ClassSeed, Clock: clock.RealClock{}, SyncPeriod: syncPeriod,
		PollPeriod: pollPeriod}
	if err := r.AddToManager(mgr, config, workers); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
