// Command acmeextension is an extension as an outside author might write one: plain controller-runtime on the API
// types, and nothing of ours but those and the client of the cloud. It has three kinds: one of its own, one in place
// of the reference provider's, and one with a type of its own. The tests run it in scenarios of the catalogue.
//
// FORGETFUL=true plants the bug that such tests are for: a restore that does not adopt the state.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/transplant-sim/transplant/api/cloud"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// configuration is the file that --config names.
type configuration struct {
	LeaseDuration metav1.Duration `json:"leaseDuration"` // short, so that a killed leader is replaced soon
	RenewDeadline metav1.Duration `json:"renewDeadline"`
	RetryPeriod   metav1.Duration `json:"retryPeriod"`
}

func configured() (*configuration, error) {
	file := flag.String("config", "", "configuration file")
	flag.Parse()
	content, err := os.ReadFile(*file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c := &configuration{}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return c, nil
}

func run(ctx context.Context) error {
	settings, err := configured()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(scheme))
	utilruntime.Must(resourcesv1alpha1.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the kubeconfig: %w", err)
	}
	account, err := cloud.FromKubeconfigFile(os.Getenv("CLOUD_KUBECONFIG"), cloud.Options{})
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "acme",
		LeaseDuration: &settings.LeaseDuration.Duration, RenewDeadline: &settings.RenewDeadline.Duration,
		RetryPeriod: &settings.RetryPeriod.Duration,
		// A cache may not know yet what we have written before.
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := errors.Join(
		add(mgr, func() *extensionsv1alpha1.Extension { return &extensionsv1alpha1.Extension{} }, vaults{mgr.GetClient()}),
		add(mgr, func() *extensionsv1alpha1.Infrastructure {
			return &extensionsv1alpha1.Infrastructure{}
		}, networks{mgr.GetClient(), account}),
		add(mgr, func() *extensionsv1alpha1.Network { return &extensionsv1alpha1.Network{} }, podNetworks{}),
	); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
