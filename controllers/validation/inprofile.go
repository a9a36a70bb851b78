package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// offer is what a CloudProfile offers in the region of a shoot.
type offer struct {
	profile *gardencorev1beta1.CloudProfile
	region  gardencorev1beta1.Region
}

// shootInProfile asks whether the CloudProfile offers what the shoot names. Versions are package versionrules'.
func shootInProfile(shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile) field.ErrorList {
	var errs field.ErrorList
	if kind := shoot.Spec.Provider.Type; kind != "" && kind != profile.Spec.Type {
		errs = append(errs, field.Invalid(field.NewPath("spec", "provider", "type"), kind,
			fmt.Sprintf("must be the provider of CloudProfile %q, which is %s", profile.Name, profile.Spec.Type)))
	}
	i := slices.IndexFunc(profile.Spec.Regions,
		func(r gardencorev1beta1.Region) bool { return r.Name == shoot.Spec.Region })
	if i < 0 && shoot.Spec.Region == "" {
		return errs // refused for that
	}
	if i < 0 {
		return append(errs, field.NotSupported(field.NewPath("spec", "region"), shoot.Spec.Region,
			namesOf(profile.Spec.Regions, regionName)))
	}
	o := offer{profile: profile, region: profile.Spec.Regions[i]}
	errs = append(errs, o.restrictions(shoot)...)
	for i := range shoot.Spec.Provider.Workers {
		worker, at := &shoot.Spec.Provider.Workers[i], workersPath().Index(i)
		errs = append(errs, o.zones(at.Child("zones"), worker)...)
		errs = append(errs, o.machineType(at.Child("machine"), worker)...)
		errs = append(errs, o.volumes(at, worker)...)
	}
	return append(errs, o.limits(shoot)...)
}

func regionName(r gardencorev1beta1.Region) string                 { return r.Name }
func zoneName(z gardencorev1beta1.AvailabilityZone) string         { return z.Name }
func machineTypeName(m gardencorev1beta1.MachineType) string       { return m.Name }
func volumeTypeName(v gardencorev1beta1.VolumeType) string         { return v.Name }
func restrictionName(a gardencorev1beta1.AccessRestriction) string { return a.Name }

func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, 0, len(list))
	for _, one := range list {
		names = append(names, name(one))
	}
	return names
}

// offered wants one of the values that the profile offers in the region. Where it offers none, the value must be left
// out.
func (o offer) offered(path *field.Path, value string, known []string) field.ErrorList {
	if len(known) == 0 {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf(
			"must be left out: CloudProfile %q offers none in region %s", o.profile.Name, o.region.Name))}
	}
	return oneOf(path, value, known)
}

// restrictions are those that can be had in the region; seeds have to honour them besides.
func (o offer) restrictions(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	known := namesOf(o.region.AccessRestrictions, restrictionName)
	for i, restriction := range shoot.Spec.AccessRestrictions {
		errs = append(errs,
			o.offered(field.NewPath("spec", "accessRestrictions").Index(i).Child("name"), restriction.Name, known)...)
	}
	return errs
}

func (o offer) zones(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	known := namesOf(o.region.Zones, zoneName)
	for i, zone := range worker.Zones {
		errs = append(errs, o.offered(path.Index(i), zone, known)...)
	}
	return errs
}

// without are the zones of a pool that lack something.
func (o offer) without(worker *gardencorev1beta1.Worker, lacks func(gardencorev1beta1.AvailabilityZone) bool) []string {
	var zones []string
	for _, zone := range o.region.Zones {
		if slices.Contains(worker.Zones, zone.Name) && lacks(zone) {
			zones = append(zones, zone.Name)
		}
	}
	return zones
}

func (o offer) machineType(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	wanted, types := worker.Machine.Type, o.profile.Spec.MachineTypes
	usable := slices.DeleteFunc(slices.Clone(types),
		func(m gardencorev1beta1.MachineType) bool { return !ptr.Deref(m.Usable, true) })
	i := slices.IndexFunc(usable, func(m gardencorev1beta1.MachineType) bool { return m.Name == wanted })
	if i < 0 && wanted == "" {
		return nil // refused for that
	}
	if i < 0 {
		return field.ErrorList{field.NotSupported(path.Child("type"), wanted, namesOf(usable, machineTypeName))}
	}
	var errs field.ErrorList
	lacks := func(z gardencorev1beta1.AvailabilityZone) bool {
		return slices.Contains(z.UnavailableMachineTypes, wanted)
	}
	for _, zone := range o.without(worker, lacks) {
		errs = append(errs, field.Invalid(path.Child("type"), wanted,
			fmt.Sprintf("cannot be had in zone %s of the pool: choose another type, or other zones", zone)))
	}
	of, asked := o.architecture(usable[i]), ptr.Deref(worker.Machine.Architecture, defaultArchitecture)
	if of != "" && of != asked && slices.Contains(architectures, asked) {
		errs = append(errs, field.Invalid(path.Child("architecture"), asked,
			fmt.Sprintf("must be that of machine type %q, which is %s", wanted, of)))
	}
	return errs
}

// defaultArchitecture is that of pools and machine types which name none.
const defaultArchitecture = "amd64"

// architectureCapability is the capability that stands for the architecture.
const architectureCapability = "architecture"

// architecture of a machine type; empty for one that may have several. Where the profile defines capabilities, a
// machine type that leaves one out has all of its values.
func (o offer) architecture(m gardencorev1beta1.MachineType) string {
	values := m.Capabilities[architectureCapability]
	for _, defined := range o.profile.Spec.MachineCapabilities {
		if len(values) == 0 && defined.Name == architectureCapability {
			values = defined.Values
		}
	}
	switch len(values) {
	case 0:
		return ptr.Deref(m.Architecture, defaultArchitecture)
	case 1:
		return values[0]
	}
	return ""
}

func (o offer) volumes(path *field.Path, worker *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	if v := worker.Volume; v != nil {
		errs = append(errs, o.volume(path.Child("volume"), worker, v.Type, v.VolumeSize, o.storageMinimum(worker))...)
	}
	for i, v := range worker.DataVolumes {
		errs = append(errs, o.volume(path.Child("dataVolumes").Index(i), worker, v.Type, v.VolumeSize, nil)...)
	}
	return errs
}

// storageMinimum is the least size of the root disk that comes with the pool's machine type.
func (o offer) storageMinimum(worker *gardencorev1beta1.Worker) *resource.Quantity {
	for _, m := range o.profile.Spec.MachineTypes {
		if m.Name == worker.Machine.Type && m.Storage != nil {
			return m.Storage.MinSize
		}
	}
	return nil
}

func (o offer) volume(path *field.Path, worker *gardencorev1beta1.Worker, kind *string, wanted string,
	least *resource.Quantity) field.ErrorList {
	var errs field.ErrorList
	if kind != nil {
		types := slices.DeleteFunc(slices.Clone(o.profile.Spec.VolumeTypes),
			func(v gardencorev1beta1.VolumeType) bool { return !ptr.Deref(v.Usable, true) })
		i := slices.IndexFunc(types, func(v gardencorev1beta1.VolumeType) bool { return v.Name == *kind })
		if i < 0 {
			return o.offered(path.Child("type"), *kind, namesOf(types, volumeTypeName))
		}
		lacks := func(z gardencorev1beta1.AvailabilityZone) bool {
			return slices.Contains(z.UnavailableVolumeTypes, *kind)
		}
		for _, zone := range o.without(worker, lacks) {
			errs = append(errs, field.Invalid(path.Child("type"), *kind,
				fmt.Sprintf("cannot be had in zone %s of the pool: choose another type, or other zones", zone)))
		}
		if least == nil {
			least = types[i].MinSize
		}
	}
	if given, wrong := size(path.Child("size"), wanted); len(wrong) == 0 && least != nil && given.Cmp(*least) < 0 {
		errs = append(errs, field.Invalid(path.Child("size"), wanted, fmt.Sprintf("must be at least %s", least)))
	}
	return errs
}

// limits are the most nodes that a shoot may have.
func (o offer) limits(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	if o.profile.Spec.Limits == nil || o.profile.Spec.Limits.MaxNodesTotal == nil {
		return nil
	}
	most := *o.profile.Spec.Limits.MaxNodesTotal
	var errs field.ErrorList
	var total int64
	// The numbers are in the messages: who is above a limit that was lowered may stay there, and not go further.
	for i, worker := range shoot.Spec.Provider.Workers {
		total += int64(worker.Minimum)
		if worker.Maximum > most {
			errs = append(errs, field.Forbidden(workersPath().Index(i).Child("maximum"), fmt.Sprintf(
				"must not be above %d, the node limit of CloudProfile %q, and is %d", most, o.profile.Name,
				worker.Maximum)))
		}
	}
	if total > int64(most) {
		errs = append(errs, field.Forbidden(workersPath(), fmt.Sprintf(
			"all minimums together must not be above %d, the node limit of CloudProfile %q, and are %d", most,
			o.profile.Name, total)))
	}
	return errs
}
