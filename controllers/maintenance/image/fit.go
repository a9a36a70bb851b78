// Package image says which versions of a machine image fit a worker pool
// (docs/specification/versions.md#spec-4-4-step-2). It knows nothing of what is newer or better: that is package
// version's.
package image

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// architectureCapability is the capability that stands for the CPU architecture.
const architectureCapability = "architecture"

// Pool is what an image must fit.
type Pool struct {
	// Worker is the worker pool.
	Worker *gardencorev1beta1.Worker
	// Kubelet is the version of the pool's kubelets; nil if it cannot be read, then no constraint on it is met.
	Kubelet *semver.Version
	// MachineType is the pool's machine type in the profile.
	MachineType *gardencorev1beta1.MachineType
	// Capabilities are the capabilities that the profile defines.
	Capabilities []gardencorev1beta1.CapabilityDefinition
}

// Misfit is why a version of an image cannot be used by the pool, as a clause without subject; "" if it can.
func (p Pool) Misfit(v gardencorev1beta1.MachineImageVersion) string {
	for _, check := range []func(gardencorev1beta1.MachineImageVersion) string{
		p.architecture, p.capabilities, p.runtime, p.kubelet, p.inPlace,
	} {
		if why := check(v); why != "" {
			return why
		}
	}
	return ""
}

func (p Pool) architecture(v gardencorev1beta1.MachineImageVersion) string {
	wanted := gardencorev1beta1.ArchitectureAMD64
	if p.Worker.Machine.Architecture != nil {
		wanted = *p.Worker.Machine.Architecture
	}
	if slices.Contains(p.architectures(v), wanted) {
		return ""
	}
	return fmt.Sprintf("does not exist for the architecture %s", wanted)
}

// architectures are those of the flavors; without flavors those that the profile defines; failing both, the list.
func (p Pool) architectures(v gardencorev1beta1.MachineImageVersion) []string {
	var architectures []string
	for _, flavor := range v.CapabilityFlavors {
		architectures = append(architectures, flavor[architectureCapability]...)
	}
	if len(v.CapabilityFlavors) == 0 {
		for _, definition := range p.Capabilities {
			if definition.Name == architectureCapability {
				architectures = definition.Values
			}
		}
	}
	if len(architectures) == 0 {
		return v.Architectures
	}
	return architectures
}

func (p Pool) capabilities(v gardencorev1beta1.MachineImageVersion) string {
	if len(p.Capabilities) == 0 || len(v.CapabilityFlavors) == 0 {
		return ""
	}
	if slices.ContainsFunc(v.CapabilityFlavors, p.compatible) {
		return ""
	}
	return fmt.Sprintf("exists in no flavor that has the capabilities of the machine type %q", p.Worker.Machine.Type)
}

// compatible is whether flavor and machine type have a value in common for every capability. What either leaves out
// may have any value.
func (p Pool) compatible(flavor gardencorev1beta1.MachineImageFlavor) bool {
	for _, definition := range p.Capabilities {
		offered, needed := definition.Values, definition.Values
		if values := flavor[definition.Name]; len(values) > 0 {
			offered = values
		}
		if p.MachineType != nil && len(p.MachineType.Capabilities[definition.Name]) > 0 {
			needed = p.MachineType.Capabilities[definition.Name]
		}
		if !slices.ContainsFunc(offered, func(value string) bool { return slices.Contains(needed, value) }) {
			return false
		}
	}
	return true
}

func (p Pool) runtime(v gardencorev1beta1.MachineImageVersion) string {
	wanted := gardencorev1beta1.CRI{Name: gardencorev1beta1.CRINameContainerD}
	if p.Worker.CRI != nil {
		wanted = *p.Worker.CRI
	}
	i := slices.IndexFunc(v.CRI, func(cri gardencorev1beta1.CRI) bool { return cri.Name == wanted.Name })
	if i < 0 {
		return fmt.Sprintf("does not have the container runtime interface %s", wanted.Name)
	}
	for _, runtime := range wanted.ContainerRuntimes {
		if !slices.ContainsFunc(v.CRI[i].ContainerRuntimes, func(has gardencorev1beta1.ContainerRuntime) bool {
			return has.Type == runtime.Type
		}) {
			return fmt.Sprintf("does not have the container runtime %s", runtime.Type)
		}
	}
	return ""
}

func (p Pool) kubelet(v gardencorev1beta1.MachineImageVersion) string {
	if v.KubeletVersionConstraint == nil {
		return ""
	}
	constraint, err := semver.NewConstraint(*v.KubeletVersionConstraint)
	switch {
	case err != nil:
		return fmt.Sprintf("has a constraint on kubelet versions that cannot be read: %q", *v.KubeletVersionConstraint)
	case p.Kubelet == nil:
		return fmt.Sprintf("needs a kubelet version %s, and that of the pool cannot be read", *v.KubeletVersionConstraint)
	case !constraint.Check(p.Kubelet):
		return fmt.Sprintf("needs a kubelet version %s, and that of the pool is %s", *v.KubeletVersionConstraint, p.Kubelet)
	}
	return ""
}

// inPlace is for pools whose machines are updated in place: the operating system must be able to.
func (p Pool) inPlace(v gardencorev1beta1.MachineImageVersion) string {
	if !p.Worker.UpdatesInPlace() {
		return ""
	}
	current := ""
	if p.Worker.Machine.Image != nil && p.Worker.Machine.Image.Version != nil {
		current = *p.Worker.Machine.Image.Version
	}
	switch {
	case v.InPlaceUpdates == nil || !v.InPlaceUpdates.Supported:
		return "does not support in-place updates"
	case v.Version == current:
		return ""
	case v.InPlaceUpdates.MinVersionForUpdate == nil:
		return "does not say from which version it can be updated to in place"
	case !atLeast(current, *v.InPlaceUpdates.MinVersionForUpdate):
		return fmt.Sprintf("can be updated to in place from %s on, not from %s", *v.InPlaceUpdates.MinVersionForUpdate,
			current)
	}
	return ""
}

// atLeast compares without suffixes: those of operating systems do not say what is newer.
func atLeast(version, minimum string) bool {
	v, err := semver.NewVersion(withoutSuffix(version))
	if err != nil {
		return false
	}
	m, err := semver.NewVersion(withoutSuffix(minimum))
	return err == nil && !v.LessThan(m)
}

func withoutSuffix(version string) string {
	if i := strings.IndexAny(version, "-+"); i >= 0 {
		return version[:i]
	}
	return version
}
