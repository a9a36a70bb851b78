package actors

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/controllers/admission"
	"github.com/transplant-sim/transplant/controllers/migration"
	"github.com/transplant-sim/transplant/controllers/scheduler"
)

type gardenControllerManagerFlags struct {
	kubeconfig     string
	waitInterval   time.Duration
	webhook        admission.Options
	webhookService string
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
	command.Flags().StringVar(&f.webhook.Host, "webhook-host", os.Getenv("POD_IP"), "address of the webhook server, on which the garden calls it")
	command.Flags().IntVar(&f.webhook.Port, "webhook-port", admission.DefaultPort, "port of the webhook server")
	command.Flags().StringVar(&f.webhookService, "webhook-service", "", "namespace/name of a Service by which the garden calls the webhook server, with the same port; empty for its address")
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
	if err := f.addDuties(mgr, garden); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func (f *gardenControllerManagerFlags) addDuties(mgr manager.Manager, garden client.Client) error {
	f.webhook.Garden = garden
	if f.webhookService != "" {
		namespace, name, err := cache.SplitMetaNamespaceKey(f.webhookService)
		if err != nil || namespace == "" {
			return fmt.Errorf("parse --webhook-service %q: want namespace/name", f.webhookService)
		}
		f.webhook.Service = &types.NamespacedName{Namespace: namespace, Name: name}
	}
	if err := admission.AddToManager(mgr, f.webhook); err != nil {
		return err
	}
	if err := (&scheduler.Reconciler{Garden: garden, Clock: clock.RealClock{}, Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	if err := (&migration.Readiness{Garden: garden, Clock: clock.RealClock{}, Retry: f.waitInterval}).AddToManager(mgr); err != nil {
		return err
	}
	return (&migration.Protection{Garden: garden}).AddToManager(mgr)
}
