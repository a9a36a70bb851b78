package environment

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/clusters/embedded/cli"
)

// listWithin is how long a garden may take to list its shoots.
const listWithin = 5 * time.Second

// ShootsOf a garden, as they are shown to people.
func ShootsOf(ctx context.Context, kubeconfig string) ([]cli.Shoot, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the garden: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the types of the garden: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil) // else every call begins with two that look for the kind
	mapper.Add(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"), meta.RESTScopeNamespace)
	config.Timeout = listWithin
	garden, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client of the garden: %w", err)
	}
	var list gardencorev1beta1.ShootList
	if err := garden.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	return shown(list.Items), nil
}

func shown(shoots []gardencorev1beta1.Shoot) []cli.Shoot {
	var all []cli.Shoot
	for i := range shoots {
		shoot := &shoots[i]
		one := cli.Shoot{Name: shoot.Namespace + "/" + shoot.Name, Seed: ptr.Deref(shoot.Status.SeedName, ""),
			LastOperation: "-"}
		if bound := ptr.Deref(shoot.Spec.SeedName, ""); bound != one.Seed {
			one.Seed = strings.TrimPrefix(one.Seed+", bound to "+bound, ", ")
		}
		one.Seed = cmp.Or(one.Seed, "-")
		if last := shoot.Status.LastOperation; last != nil {
			one.LastOperation = fmt.Sprintf("%s %s", last.Type, last.State)
			if last.State == gardencorev1beta1.LastOperationStateProcessing {
				one.LastOperation += fmt.Sprintf(" %d%%", last.Progress)
			}
		}
		all = append(all, one)
	}
	return all
}
