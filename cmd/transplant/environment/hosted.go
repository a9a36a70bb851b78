package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/ready"
	"github.com/transplant-sim/transplant/clusters/switchboard"
	"github.com/transplant-sim/transplant/cmd/transplant/actors"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootaccess"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// hostedClusters are the clusters of the seeds that are shoots, by seed.
func hostedClusters(all []landscape.Hosted) map[string]embedded.Hosted {
	clusters := map[string]embedded.Hosted{}
	for _, hosted := range all {
		clusters[hosted.Name] = embedded.Hosted{Host: HostsOf(hosted.Name)[0], OnMachines: hosted.Shoot.Workers > 0}
	}
	return clusters
}

// IsHosted says whether a seed is a shoot.
func IsHosted(l Landscape, seed string) bool {
	hosts, can := l.(*embedded.Landscape)
	return can && embedded.IsHosted(hosts, seed)
}

// firstSeeds are the seeds that are no shoots.
func firstSeeds(l Landscape) []string {
	return slices.DeleteFunc(Seeds(l), func(seed string) bool { return IsHosted(l, seed) })
}

// hosting makes the seeds that are shoots.
type hosting struct {
	*Environment
	on     *embedded.Landscape
	garden client.Client
}

// bringUpHosted makes the seeds that are shoots, each on one that is there, and closes rings by moving. An operator
// would do the same, one after the other.
func bringUpHosted(ctx context.Context, s *Environment, l *embedded.Landscape) error {
	garden, err := ObserverClient(l, landscape.Garden)
	if err != nil {
		return err
	}
	h := hosting{s, l, garden}
	for _, hosted := range s.Hosted {
		if err := h.make(ctx, hosted); err != nil {
			return fmt.Errorf("make the seed %q on seed %q: %w", hosted.Name, hosted.Born, err)
		}
	}
	for _, hosted := range s.Hosted {
		if hosted.Born == hosted.Host {
			continue
		}
		if err := moveHosted(ctx, garden, hosted); err != nil {
			return fmt.Errorf("move the seed %q from seed %q to %q: %w", hosted.Name, hosted.Born, hosted.Host, err)
		}
	}
	return nil
}

func (h hosting) make(ctx context.Context, hosted landscape.Hosted) error {
	shoot, err := h.shoot(hosted)
	if err != nil {
		return err
	}
	if err := h.garden.Create(ctx, shoot); err != nil {
		return fmt.Errorf("create the shoot: %w", err)
	}
	err = awaitShoot(ctx, h.garden, hosted.Name, hosted.Born, gardencorev1beta1.LastOperationTypeCreate)
	if err != nil {
		return err
	}
	if err := h.attach(ctx, hosted.Name); err != nil {
		return err
	}
	return h.watched(ctx, h.on, []string{landscape.Garden, hosted.Born, hosted.Name},
		func(ctx context.Context, _ Landscape) error { return h.start(ctx, hosted.Name) })
}

// shoot of a seed. Its Services have the addresses of the seed's cluster.
func (h hosting) shoot(hosted landscape.Hosted) (*gardencorev1beta1.Shoot, error) {
	wanted := hosted.Shoot
	wanted.Seed = hosted.Born
	shoot, err := h.ShootManifest(wanted)
	if err != nil || wanted.Workers > 0 { // nodes bring the addresses of the cluster along
		return shoot, err
	}
	_, services, err := h.on.Networks(hosted.Name)
	shoot.Spec.Networking = &gardencorev1beta1.Networking{Services: ptr.To(services)}
	return shoot, err
}

// attach the cluster of a seed to the API server of its shoot, with the access that the shoot's users get.
func (h hosting) attach(ctx context.Context, name string) error {
	key := ShootKey(name)
	key.Name += shootaccess.SuffixKubeconfig
	access := &corev1.Secret{}
	if err := h.garden.Get(ctx, key, access); err != nil {
		return fmt.Errorf("read the access of the shoot: %w", err)
	}
	return embedded.Attach(ctx, h.on, name, embedded.Access{CA: access.Data["ca.crt"],
		Token: string(access.Data["token"])})
}

// start what makes a seed of a cluster that has just got its API server.
func (h hosting) start(ctx context.Context, name string) error {
	c, err := ObserverClient(h.on, name)
	if err != nil {
		return err
	}
	if err := h.prepareSeed(ctx, h.on, c, name); err != nil {
		return err
	}
	if err := h.register(ctx, name); err != nil {
		return err
	}
	if err := h.startSeed(ctx, h.on, c, name); err != nil {
		return err
	}
	if err := awaitActors(ctx, c, name); err != nil {
		return err
	}
	return awaitSeed(ctx, h.garden, name)
}

// register a seed with a ManagedSeed, of which the garden-controller-manager makes the Seed. What else the seed is to
// the garden is as for others.
func (h hosting) register(ctx context.Context, name string) error {
	values, err := h.seedValues(h.on, name)
	if err != nil {
		return err
	}
	objects, err := filledIn("seed-in-garden.yaml", values, h.Extensions...)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Seed" {
			if object, err = managedSeed(object); err != nil {
				return err
			}
		}
		if err := applyObject(ctx, h.garden, object); err != nil {
			return err
		}
	}
	return nil
}

// managedSeed makes a Seed of the shoot of the same name.
func managedSeed(seed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	config, err := json.Marshal(map[string]any{
		"apiVersion": "gardenlet.config.gardener.cloud/v1alpha1", "kind": "GardenletConfiguration",
		"seedConfig": map[string]any{"metadata": map[string]any{"labels": seed.GetLabels()}, "spec": seed.Object["spec"]},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of the gardenlet of seed %q: %w", seed.GetName(), err)
	}
	key := ShootKey(seed.GetName())
	managed := &seedmanagementv1alpha1.ManagedSeed{
		TypeMeta:   metav1.TypeMeta{APIVersion: seedmanagementv1alpha1.SchemeGroupVersion.String(), Kind: "ManagedSeed"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: key.Name},
			Gardenlet: &seedmanagementv1alpha1.Gardenlet{Config: &runtime.RawExtension{Raw: config}}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(managed)
	if err != nil {
		return nil, fmt.Errorf("encode the ManagedSeed %q: %w", key.Name, err)
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}, nil
}

// moveHosted moves the control plane of a seed to its host.
func moveHosted(ctx context.Context, garden client.Client, hosted landscape.Hosted) error {
	key := ShootKey(hosted.Name)
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"seedName":%q}}`, hosted.Host))
	if err := garden.Patch(ctx, shoot, patch); err != nil {
		return fmt.Errorf("bind the shoot: %w", err)
	}
	return awaitShoot(ctx, garden, hosted.Name, hosted.Host, gardencorev1beta1.LastOperationTypeRestore)
}

// awaitShoot waits until a shoot is on a seed and its operation there has succeeded.
func awaitShoot(ctx context.Context, garden client.Client, name, seed string,
	operation gardencorev1beta1.LastOperationType) error {
	err := ready.Await(ctx, actorPoll, actorTimeout, func(ctx context.Context) error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := garden.Get(ctx, ShootKey(name), shoot); err != nil {
			return err
		}
		last := shoot.Status.LastOperation
		if on := ptr.Deref(shoot.Status.SeedName, ""); on != seed || last == nil {
			return fmt.Errorf("it is on seed %q", on)
		}
		if last.Type != operation || last.State != gardencorev1beta1.LastOperationStateSucceeded {
			return fmt.Errorf("its last operation is %s %s: %s", last.Type, last.State, last.Description)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for the shoot %q: %w", name, err)
	}
	return nil
}

// offerOutside gives an operator what it takes to run control planes outside any seed. The programs get no more rights
// in the cloud than those of a seed: those of the shoot that DNS gives to them.
func offerOutside(s *Environment, l *embedded.Landscape) error {
	if s.tokens[constants.SeedOutside] == "" {
		return nil // a checkpoint of a build before
	}
	for _, identity := range []string{CloudAdmin, constants.SeedOutside} {
		content, err := s.cloudKubeconfig(l, identity)
		if err != nil {
			return err
		}
		if err := l.Dir().WriteKubeconfig(identity, switchboard.Cloud, content); err != nil {
			return err
		}
	}
	garden, err := l.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	files := garden.(*embedded.Cluster).Files()
	proxy, err := l.Links().Proxy(constants.SeedOutside)
	if err != nil {
		return err
	}
	in := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return actors.WriteOutside(l.Dir(), actors.Outside{
		Slot: l.Slot(), ControlPlane: l.ControlPlane(), GardenKubeconfig: files.Kubeconfig(program.Admin),
		CloudKubeconfig:    l.Dir().Kubeconfig(CloudAdmin, switchboard.Cloud),
		ProgramsKubeconfig: l.Dir().Kubeconfig(constants.SeedOutside, switchboard.Cloud),
		ProxyURL:           proxy.URL(), ProxyCA: l.Links().CA(), Namespace: ShootKey("").Namespace, InternalDomain: Domain,
		OwnerCheckInterval: in(s.Settings.OwnerCheckInterval), OwnerCheckTimeout: in(s.Settings.OwnerCheckTimeout),
		DeltaInterval: in(s.Settings.DeltaInterval), FullSnapshotInterval: in(s.Settings.FullSnapshotInterval),
		DNSTTL: in(s.Settings.DNSTTL),
	})
}
