package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/clusters/cli"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
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
	if err := errors.Join(gardencorev1beta1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register the types of the garden: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil) // else every call begins with two that look for the kind
	mapper.Add(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"), meta.RESTScopeNamespace)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	config.Timeout = listWithin
	garden, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client of the garden: %w", err)
	}
	var list gardencorev1beta1.ShootList
	if err := garden.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	epochs, err := world.ClaimedEpochs(ctx, garden)
	if err != nil {
		return nil, err
	}
	all := shown(list.Items)
	for i := range list.Items {
		all[i].Epoch = epochs[client.ObjectKeyFromObject(&list.Items[i])]
	}
	return all, nil
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
			one.Settled = last.State == gardencorev1beta1.LastOperationStateSucceeded &&
				ptr.Deref(shoot.Spec.SeedName, "") == ptr.Deref(shoot.Status.SeedName, "")
			one.LastOperation = fmt.Sprintf("%s %s", last.Type, last.State)
			if last.State == gardencorev1beta1.LastOperationStateProcessing {
				one.LastOperation += fmt.Sprintf(" %d%%", last.Progress)
			}
		}
		for _, problem := range shoot.Status.LastErrors {
			text := problem.Description
			for _, code := range slices.Backward(problem.Codes) {
				text = string(code) + " " + text
			}
			one.LastErrors = append(one.LastErrors, strings.Join(strings.Fields(text), " "))
		}
		all = append(all, one)
	}
	return all
}

// ShootManifest is the Shoot to create for what a scenario describes, as the extensions' files change it.
func (s *Environment) ShootManifest(wanted landscape.Shoot) (*gardencorev1beta1.Shoot, error) {
	key := ShootKey(wanted.Name)
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{
			Name: key.Name, Namespace: key.Namespace,
			Annotations: map[string]string{constants.ConfirmationDeletion: constants.LabelTrue},
		},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: landscape.CloudProfile},
			Region:       "here",
			Kubernetes: gardencorev1beta1.Kubernetes{Version: cmp.Or(wanted.Kubernetes,
				landscape.Latest(landscape.Kubernetes()))},
			Provider:    gardencorev1beta1.Provider{Type: "transplant"},
			Networking:  &gardencorev1beta1.Networking{Type: ptr.To("transplant")},
			Maintenance: &gardencorev1beta1.Maintenance{TimeWindow: windowFarFrom(time.Now())},
		},
	}
	if wanted.Seed != "" {
		shoot.Spec.SeedName = ptr.To(wanted.Seed)
	}
	if wanted.ExternalDomain {
		shoot.Spec.DNS = &gardencorev1beta1.DNS{Domain: ptr.To(domainOf(wanted.Name))}
	}
	if wanted.Purpose != "" {
		shoot.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurpose(wanted.Purpose))
	}
	if wanted.Extended {
		shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "transplant"}}
	}
	for _, e := range s.Extensions {
		shoot.Spec.Extensions = append(shoot.Spec.Extensions, e.Named()...)
	}
	if wanted.Workers > 0 {
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{
			Name: "pool", Minimum: int32(wanted.Workers), Maximum: int32(wanted.Workers), Zones: []string{"here-1"},
			Machine: gardencorev1beta1.Machine{
				Type: "medium",
				Image: &gardencorev1beta1.ShootMachineImage{
					Name: landscape.MachineImage, Version: ptr.To(cmp.Or(wanted.Image, landscape.Latest(landscape.Images()))),
				},
			},
		}}
		if wanted.Extended {
			shoot.Spec.Provider.Workers[0].CRI = &gardencorev1beta1.CRI{
				Name:              gardencorev1beta1.CRINameContainerD,
				ContainerRuntimes: []gardencorev1beta1.ContainerRuntime{{Type: "transplant"}},
			}
		}
		if wanted.UpdateStrategy != "" {
			shoot.Spec.Provider.Workers[0].UpdateStrategy = ptr.To(
				gardencorev1beta1.MachineUpdateStrategy(wanted.UpdateStrategy))
		}
	}
	if wanted.Nodes == landscape.RealNodes {
		if err := s.RealNodes.Apply(shoot); err != nil {
			return nil, err
		}
	}
	return landscape.OverlayTyped("Shoot", shoot, s.Extensions)
}

// untilWindow is how long after the creation of a shoot its maintenance time window begins, which lasts an hour.
const untilWindow = 12 * time.Hour

// CheckWindow is an error if the shoots of a checkpoint that was made then may be maintained during a run now: an hour
// before their window to an hour after it.
func CheckWindow(folder string, made, now time.Time) error {
	const day, margin = 24 * time.Hour, time.Hour
	if since := now.Sub(made) % day; since < untilWindow-margin || since > untilWindow+time.Hour+margin {
		return nil
	}
	return fmt.Errorf("open the checkpoint %q: the maintenance time window of its shoots begins at about %s: wait until "+
		"two hours later, or make the checkpoint anew", folder, made.Add(untilWindow).Local().Format(time.TimeOnly))
}

// windowFarFrom is a maintenance time window on the other side of the day: what a scenario does not ask for does
// not happen in it. Without one, every moment would be in the window.
func windowFarFrom(now time.Time) *gardencorev1beta1.MaintenanceTimeWindow {
	begin := now.UTC().Add(untilWindow)
	const layout = "150405-0700"
	return &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin.Format(layout), End: begin.Add(time.Hour).Format(layout)}
}
