package image_test

import (
	"testing"

	"github.com/Masterminds/semver/v3"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
)

func containerd(runtimes ...string) []gardencorev1beta1.CRI {
	cri := gardencorev1beta1.CRI{Name: gardencorev1beta1.CRINameContainerD}
	for _, runtime := range runtimes {
		cri.ContainerRuntimes = append(cri.ContainerRuntimes, gardencorev1beta1.ContainerRuntime{Type: runtime})
	}
	return []gardencorev1beta1.CRI{cri}
}

func flavors(all ...gardencorev1beta1.MachineImageFlavor) []gardencorev1beta1.MachineImageFlavor {
	return all
}

func TestMisfit(t *testing.T) {
	t.Parallel()
	capabilities := []gardencorev1beta1.CapabilityDefinition{
		{Name: "architecture", Values: gardencorev1beta1.CapabilityValues{"amd64", "arm64"}},
		{Name: "boot", Values: gardencorev1beta1.CapabilityValues{"uefi", "bios"}},
	}
	for _, c := range []struct {
		name   string
		change func(*image.Pool, *gardencorev1beta1.MachineImageVersion)
		want   string
	}{
		{"fits", func(*image.Pool, *gardencorev1beta1.MachineImageVersion) {}, ""},
		{"architecture of the pool", func(p *image.Pool, _ *gardencorev1beta1.MachineImageVersion) {
			p.Worker.Machine.Architecture = ptr.To("arm64")
		}, "does not exist for the architecture arm64"},
		{"no architecture", func(_ *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			v.Architectures = nil
		}, "does not exist for the architecture amd64"},
		{"architecture of the flavors", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Capabilities, v.Architectures = capabilities, nil
			v.CapabilityFlavors = flavors(gardencorev1beta1.MachineImageFlavor{"architecture": {"arm64"}},
				gardencorev1beta1.MachineImageFlavor{"architecture": {"amd64"}})
		}, ""},
		{"architecture of the profile", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Capabilities, v.Architectures = capabilities, nil
		}, ""},
		{"no flavor for the machine type", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Capabilities, p.MachineType.Capabilities = capabilities, gardencorev1beta1.Capabilities{"boot": {"uefi"}}
			v.CapabilityFlavors = flavors(gardencorev1beta1.MachineImageFlavor{"architecture": {"amd64"}, "boot": {"bios"}})
		}, `exists in no flavor that has the capabilities of the machine type "m"`},
		{"a flavor that leaves a capability out", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Capabilities, p.MachineType.Capabilities = capabilities, gardencorev1beta1.Capabilities{"boot": {"uefi"}}
			v.CapabilityFlavors = flavors(gardencorev1beta1.MachineImageFlavor{"architecture": {"amd64"}})
		}, ""},
		{"another runtime interface", func(p *image.Pool, _ *gardencorev1beta1.MachineImageVersion) {
			p.Worker.CRI = &gardencorev1beta1.CRI{Name: "crio"}
		}, "does not have the container runtime interface crio"},
		{"containerd is meant where none is named", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.CRI, v.CRI = nil, nil
		}, "does not have the container runtime interface containerd"},
		{"a runtime that is missing", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.CRI, v.CRI = &containerd("gvisor", "kata")[0], containerd("gvisor")
		}, "does not have the container runtime kata"},
		{"more runtimes than needed", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.CRI, v.CRI = &containerd("gvisor")[0], containerd("kata", "gvisor")
		}, ""},
		{"kubelet in the range", func(_ *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			v.KubeletVersionConstraint = ptr.To(">= 1.33, < 1.34")
		}, ""},
		{"kubelet out of the range", func(_ *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			v.KubeletVersionConstraint = ptr.To("< 1.33")
		}, "needs a kubelet version < 1.33, and that of the pool is 1.33.5"},
		{"a range that cannot be read", func(_ *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			v.KubeletVersionConstraint = ptr.To("new")
		}, `has a constraint on kubelet versions that cannot be read: "new"`},
		{"a kubelet that cannot be read", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Kubelet, v.KubeletVersionConstraint = nil, ptr.To("< 1.33")
		}, "needs a kubelet version < 1.33, and that of the pool cannot be read"},
		{"in place, not supported", func(p *image.Pool, _ *gardencorev1beta1.MachineImageVersion) {
			p.Worker.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
		}, "does not support in-place updates"},
		{"in place, no version to come from", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.UpdateStrategy = ptr.To(gardencorev1beta1.ManualInPlaceUpdate)
			v.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdates{Supported: true}
		}, "does not say from which version it can be updated to in place"},
		{"in place, the version itself", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.UpdateStrategy, v.Version = ptr.To(gardencorev1beta1.AutoInPlaceUpdate), "1.0.0"
			v.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdates{Supported: true}
		}, ""},
		{"in place, from too old a version", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
			v.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdates{Supported: true, MinVersionForUpdate: ptr.To("1.0.1")}
		}, "can be updated to in place from 1.0.1 on, not from 1.0.0"},
		{"in place, suffixes do not count", func(p *image.Pool, v *gardencorev1beta1.MachineImageVersion) {
			p.Worker.UpdateStrategy, p.Worker.Machine.Image.Version = ptr.To(gardencorev1beta1.AutoInPlaceUpdate),
				ptr.To("1.0.0-a")
			v.InPlaceUpdates = &gardencorev1beta1.InPlaceUpdates{Supported: true, MinVersionForUpdate: ptr.To("1.0.0-b")}
		}, ""},
	} {
		pool := image.Pool{
			Worker: &gardencorev1beta1.Worker{
				CRI: &containerd()[0],
				Machine: gardencorev1beta1.Machine{Type: "m", Image: &gardencorev1beta1.ShootMachineImage{Name: "linux",
					Version: ptr.To("1.0.0")}},
			},
			Kubelet: semver.MustParse("1.33.5"), MachineType: &gardencorev1beta1.MachineType{Name: "m"},
		}
		v := gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "2.0.0"}, Architectures: []string{"amd64"},
			CRI: containerd(),
		}
		c.change(&pool, &v)
		if got := pool.Misfit(v); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
