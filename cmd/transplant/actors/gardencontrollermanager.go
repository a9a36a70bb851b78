package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/controllers/migration"
)

type gardenControllerManagerFlags struct {
	kubeconfig   string
	waitInterval time.Duration
}

// NewGardenControllerManager is `transplant garden-controller-manager`.
func NewGardenControllerManager() *cobra.Command {
	f := &gardenControllerManagerFlags{}
	command := &cobra.Command{
		Use: "garden-controller-manager", Short: "Run the garden's controllers and its admission", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return f.run(ctrl.SetupSignalHandler()) },
	}
	command.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the garden")
	command.Flags().DurationVar(&f.waitInterval, "wait-interval", 5*time.Second, "how often a wait looks again when no watch woke it")
	if err := command.MarkFlagRequired("kubeconfig"); err != nil {
		panic(err) // the flag is defined above
	}
	return command
}

func (f *gardenControllerManagerFlags) run(ctx context.Context) error {
	setUpLogs()
	config, err := loadConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: gardenScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("make the manager on the garden: %w", err)
	}
	garden, err := client.New(config, client.Options{Scheme: gardenScheme()})
	if err != nil {
		return fmt.Errorf("make the client of the garden: %w", err)
	}
	if err := (&migration.Readiness{Garden: garden, Clock: clock.RealClock{}, Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&migration.Protection{Garden: garden}).AddToManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
