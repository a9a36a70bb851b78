// Command contractextension is an extension with a planted bug for each clause of docs/contract.md that the contract
// kit judges. It is for the test of the kit, and no example: e2e/extensions has those.
//
// It reconciles Extensions. The type says which clause is broken: breaks-a1, breaks-b4 and so on, with a word behind it
// if that is another way to break it. The type keeps breaks none. The provider of e2e/extensions has the bug about
// machines (docs/contract.md#clause-d5).
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
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

func run(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, extensionsv1alpha1.AddToScheme,
		resourcesv1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
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
		LeaderElection: true, LeaderElectionID: "contract",
		// A cache may not know yet what was written before.
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	r := &reconciler{Client: mgr.GetClient(), cloud: account, seed: os.Getenv("SEED_NAME")}
	if err := ctrl.NewControllerManagedBy(mgr).For(&extensionsv1alpha1.Extension{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).Complete(r); err != nil {
		return fmt.Errorf("add the controller: %w", err)
	}
	return mgr.Start(ctx)
}

// bugOf an object is the clause that is broken for it; empty for none.
func bugOf(obj *extensionsv1alpha1.Extension) (bug string, ours bool) {
	ofType := obj.Spec.Type
	if ofType == "keeps" {
		return "", true
	}
	if ofType == "breaks-a8-of-nobody" { // what the kit calls another type
		return "a8", true
	}
	bug, ours = strings.CutPrefix(ofType, "breaks-")
	return bug, ours && !strings.Contains(bug, "-")
}
