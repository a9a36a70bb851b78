package landscape

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/sim/mergepatch"
)

// Overlay changes an object of a landscape, as JSON, as the files of its extensions say, one after the other. A Shoot,
// a CloudProfile and a Seed may change; an object of any other kind stays as it is.
func Overlay(kind string, object []byte, all []Extension) ([]byte, error) {
	for _, e := range all {
		var err error
		if object, err = e.overlay(kind, object); err != nil {
			return nil, fmt.Errorf("change a %s as extension %q says: %w", kind, e.Name, err)
		}
	}
	return object, nil
}

func (e Extension) overlay(kind string, object []byte) ([]byte, error) {
	switch kind {
	case "CloudProfile":
		return merge(object, e.CloudProfile)
	case "Seed":
		return merge(object, e.Seed)
	case "Shoot":
		object, err := merge(object, e.Shoot)
		if err != nil || e.WorkerPool == nil {
			return object, err
		}
		return e.overlayPools(object)
	}
	return object, nil
}

func merge(object []byte, patch *mergepatch.Merge) ([]byte, error) {
	if patch == nil {
		return object, nil
	}
	return jsonpatch.MergePatch(object, []byte(patch.String()))
}

func (e Extension) overlayPools(object []byte) ([]byte, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(object, shoot); err != nil {
		return nil, err
	}
	for i, pool := range shoot.Spec.Provider.Workers {
		content, err := json.Marshal(pool)
		if err == nil {
			content, err = merge(content, &e.WorkerPool.Merge)
		}
		pool = gardencorev1beta1.Worker{}
		if err = errors.Join(err, json.Unmarshal(content, &pool)); err != nil {
			return nil, err
		}
		shoot.Spec.Provider.Workers[i] = pool
	}
	return json.Marshal(shoot)
}

// OverlayTyped is Overlay for an object of a Go type.
func OverlayTyped[T any](kind string, object *T, all []Extension) (*T, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode the %s that extensions change: %w", kind, err)
	}
	if content, err = Overlay(kind, content, all); err != nil {
		return nil, err
	}
	changed := new(T)
	if err := json.Unmarshal(content, changed); err != nil {
		return nil, fmt.Errorf("decode the %s that extensions have changed: %w", kind, err)
	}
	return changed, nil
}

// ReferenceType is the type of which the reference provider reconciles the objects of a kind.
func ReferenceType(kind string) string {
	if kind == extensionsv1alpha1.OperatingSystemConfigResource {
		return MachineImage
	}
	return ProviderType
}

// Asked says for which types of extension objects a landscape with these extensions asks, by kind. Of kind Extension
// Shoots have every type that an extension has, unless a patch takes it away.
func Asked(all []Extension) (map[string][]string, error) {
	var own []gardencorev1beta1.Extension
	for _, e := range all {
		for _, kindType := range e.Types() {
			own = append(own, gardencorev1beta1.Extension{Type: kindType})
		}
	}
	shoot, err := OverlayTyped("Shoot", &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{
		Extensions: own,
		Networking: &gardencorev1beta1.Networking{Type: ptr.To(ProviderType)},
		Provider: gardencorev1beta1.Provider{Type: ProviderType, Workers: []gardencorev1beta1.Worker{{
			Machine: gardencorev1beta1.Machine{Image: &gardencorev1beta1.ShootMachineImage{Name: MachineImage}},
			CRI:     &gardencorev1beta1.CRI{ContainerRuntimes: []gardencorev1beta1.ContainerRuntime{{Type: ProviderType}}},
		}}},
	}}, all)
	if err != nil {
		return nil, err
	}
	dns := gardencorev1beta1.SeedDNSProviderConfig{Type: ProviderType}
	seed, err := OverlayTyped("Seed", &gardencorev1beta1.Seed{Spec: gardencorev1beta1.SeedSpec{
		Backup: &gardencorev1beta1.Backup{Provider: ProviderType},
		DNS:    gardencorev1beta1.SeedDNS{Internal: &dns, Defaults: []gardencorev1beta1.SeedDNSProviderConfig{dns}},
	}}, all)
	if err != nil {
		return nil, err
	}
	asked := map[string][]string{}
	ask := func(kindType string, kinds ...string) {
		for _, kind := range kinds {
			if kindType != "" && !slices.Contains(asked[kind], kindType) {
				asked[kind] = append(asked[kind], kindType)
			}
		}
	}
	spec := shoot.Spec
	ask(spec.Provider.Type, extensionsv1alpha1.InfrastructureResource, extensionsv1alpha1.ControlPlaneResource,
		extensionsv1alpha1.WorkerResource)
	if spec.Networking != nil {
		ask(ptr.Deref(spec.Networking.Type, spec.Provider.Type), extensionsv1alpha1.NetworkResource)
	}
	for _, pool := range spec.Provider.Workers {
		if pool.Machine.Image != nil {
			ask(pool.Machine.Image.Name, extensionsv1alpha1.OperatingSystemConfigResource)
		}
		for _, runtime := range ptr.Deref(pool.CRI, gardencorev1beta1.CRI{}).ContainerRuntimes {
			ask(runtime.Type, extensionsv1alpha1.ContainerRuntimeResource)
		}
	}
	if spec.DNS != nil {
		for _, provider := range spec.DNS.Providers {
			ask(ptr.Deref(provider.Type, ""), extensionsv1alpha1.DNSRecordResource)
		}
	}
	for _, provider := range append(slices.Clone(seed.Spec.DNS.Defaults), ptr.Deref(seed.Spec.DNS.Internal, dns)) {
		ask(provider.Type, extensionsv1alpha1.DNSRecordResource)
	}
	if seed.Spec.Backup != nil {
		ask(seed.Spec.Backup.Provider, extensionsv1alpha1.BackupBucketResource, extensionsv1alpha1.BackupEntryResource)
	}
	for _, extension := range spec.Extensions {
		ask(extension.Type, extensionsv1alpha1.ExtensionResource)
	}
	return asked, nil
}
