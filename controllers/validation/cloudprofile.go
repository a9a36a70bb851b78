package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// CloudProfile checks what a CloudProfile offers. Lives and order of versions are package versionrules'.
func CloudProfile(profile *gardencorev1beta1.CloudProfile) field.ErrorList {
	spec, path := &profile.Spec, field.NewPath("spec")
	errs := filled(path.Child("type"), spec.Type, "must name the provider's type")
	errs = append(errs, regions(path.Child("regions"), spec)...)
	errs = append(errs, capabilityDefinitions(path.Child("machineCapabilities"), spec.MachineCapabilities)...)
	errs = append(errs, machineTypes(path.Child("machineTypes"), spec)...)
	errs = append(errs, volumeTypes(path.Child("volumeTypes"), spec)...)
	for i := range spec.MachineImages {
		errs = append(errs,
			machineImage(path.Child("machineImages").Index(i), &spec.MachineImages[i], spec.MachineCapabilities)...)
	}
	if spec.SeedSelector != nil {
		errs = append(errs, seedSelector(path.Child("seedSelector"), spec.SeedSelector)...)
	}
	if spec.Limits != nil && spec.Limits.MaxNodesTotal != nil {
		errs = append(errs, atLeast(path.Child("limits", "maxNodesTotal"), *spec.Limits.MaxNodesTotal, 1)...)
	}
	return errs
}

// CloudProfileChange checks what may not become of a CloudProfile: its shoots stay with their provider.
func CloudProfileChange(profile, old *gardencorev1beta1.CloudProfile) field.ErrorList {
	return unchangedOnceSet(field.NewPath("spec", "type"), &profile.Spec.Type, &old.Spec.Type)
}

func regions(path *field.Path, spec *gardencorev1beta1.CloudProfileSpec) field.ErrorList {
	if len(spec.Regions) == 0 {
		return field.ErrorList{field.Required(path, "must provide at least one region")}
	}
	var errs field.ErrorList
	names := seen{}
	for i, region := range spec.Regions {
		at := path.Index(i)
		errs = append(errs, names.once(at.Child("name"), region.Name)...)
		restrictions := seen{}
		for r, restriction := range region.AccessRestrictions {
			errs = append(errs,
				restrictions.once(at.Child("accessRestrictions").Index(r).Child("name"), restriction.Name)...)
		}
		zones := seen{}
		for z, zone := range region.Zones {
			where := at.Child("zones").Index(z)
			errs = append(errs, zones.once(where.Child("name"), zone.Name)...)
			errs = append(errs, labelValue(where.Child("name"), zone.Name)...)
			errs = append(errs, each(where.Child("unavailableMachineTypes"), zone.UnavailableMachineTypes,
				namesOf(spec.MachineTypes, machineTypeName))...)
			errs = append(errs, each(where.Child("unavailableVolumeTypes"), zone.UnavailableVolumeTypes,
				namesOf(spec.VolumeTypes, volumeTypeName))...)
		}
	}
	return errs
}

// each wants known values, each once.
func each(path *field.Path, values, known []string) field.ErrorList {
	var errs field.ErrorList
	given := seen{}
	for i, value := range values {
		errs = append(errs, given.once(path.Index(i), value)...)
		errs = append(errs, oneOf(path.Index(i), value, known)...)
	}
	return errs
}

func capabilityDefinitions(path *field.Path, definitions []gardencorev1beta1.CapabilityDefinition) field.ErrorList {
	var errs field.ErrorList
	names := seen{}
	for i, definition := range definitions {
		at := path.Index(i)
		errs = append(errs, names.once(at.Child("name"), definition.Name)...)
		if len(definition.Values) == 0 {
			errs = append(errs, field.Required(at.Child("values"), "must provide at least one value"))
		}
		values := seen{}
		for v, value := range definition.Values {
			errs = append(errs, values.once(at.Child("values").Index(v), value)...)
		}
		if definition.Name == architectureCapability {
			errs = append(errs, each(at.Child("values"), definition.Values, architectures)...)
		}
	}
	if len(definitions) > 0 && !names[architectureCapability] {
		errs = append(errs, field.Required(path, fmt.Sprintf("must define the capability %q", architectureCapability)))
	}
	return errs
}

// capabilities wants names and values that the profile defines.
func capabilities[M ~map[string]gardencorev1beta1.CapabilityValues](path *field.Path, given M,
	defined []gardencorev1beta1.CapabilityDefinition) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(given) {
		i := slices.IndexFunc(defined, func(d gardencorev1beta1.CapabilityDefinition) bool { return d.Name == name })
		if i < 0 {
			errs = append(errs, field.NotSupported(path, name,
				namesOf(defined, func(d gardencorev1beta1.CapabilityDefinition) string { return d.Name })))
			continue
		}
		errs = append(errs, each(path.Key(name), given[name], defined[i].Values)...)
	}
	return errs
}

func machineTypes(path *field.Path, spec *gardencorev1beta1.CloudProfileSpec) field.ErrorList {
	if len(spec.MachineTypes) == 0 {
		return field.ErrorList{field.Required(path, "must provide at least one machine type")}
	}
	var errs field.ErrorList
	names := seen{}
	for i := range spec.MachineTypes {
		m, at := &spec.MachineTypes[i], path.Index(i)
		errs = append(errs, names.once(at.Child("name"), m.Name)...)
		errs = append(errs, labelValue(at.Child("name"), m.Name)...)
		errs = append(errs, amount(at.Child("cpu"), &m.CPU)...)
		errs = append(errs, amount(at.Child("gpu"), &m.GPU)...)
		errs = append(errs, amount(at.Child("memory"), &m.Memory)...)
		if m.Architecture != nil {
			errs = append(errs, oneOf(at.Child("architecture"), *m.Architecture, architectures)...)
		}
		errs = append(errs, capabilities(at.Child("capabilities"), m.Capabilities, spec.MachineCapabilities)...)
		if m.Storage != nil {
			errs = append(errs, storage(at.Child("storage"), m.Storage)...)
		}
	}
	return errs
}

func storage(path *field.Path, given *gardencorev1beta1.MachineTypeStorage) field.ErrorList {
	errs := amount(path.Child("minSize"), given.MinSize)
	errs = append(errs, amount(path.Child("size"), given.StorageSize)...)
	if given.MinSize != nil && given.StorageSize != nil {
		errs = append(errs, field.Forbidden(path.Child("minSize"),
			"must not be set together with size: a disk of one size has no least one"))
	}
	return errs
}

func volumeTypes(path *field.Path, spec *gardencorev1beta1.CloudProfileSpec) field.ErrorList {
	var errs field.ErrorList
	names := seen{}
	for i, v := range spec.VolumeTypes {
		errs = append(errs, names.once(path.Index(i).Child("name"), v.Name)...)
		errs = append(errs, amount(path.Index(i).Child("minSize"), v.MinSize)...)
	}
	return errs
}

func machineImage(path *field.Path, image *gardencorev1beta1.MachineImage,
	defined []gardencorev1beta1.CapabilityDefinition) field.ErrorList {
	errs := filled(path.Child("name"), image.Name, "must name the image")
	for i := range image.Versions {
		version, at := &image.Versions[i], path.Child("versions").Index(i)
		errs = append(errs, each(at.Child("architectures"), version.Architectures, architectures)...)
		names := seen{}
		for c := range version.CRI {
			errs = append(errs, names.once(at.Child("cri").Index(c).Child("name"), string(version.CRI[c].Name))...)
			errs = append(errs, containerRuntime(at.Child("cri").Index(c), &version.CRI[c])...)
		}
		for f, flavor := range version.CapabilityFlavors {
			errs = append(errs, capabilities(at.Child("capabilityFlavors").Index(f), flavor, defined)...)
		}
	}
	return errs
}
