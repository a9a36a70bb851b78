package validation

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const immutable = "field is immutable"

// unchangedOnceSet refuses another value than before, where there was one.
func unchangedOnceSet(path *field.Path, now, before *string) field.ErrorList {
	was, is := ptr.Deref(before, ""), ptr.Deref(now, "")
	if was == "" || is == was {
		return nil
	}
	return field.ErrorList{field.Invalid(path, is, fmt.Sprintf("%s: it is %s", immutable, was))}
}

// ShootChange refuses changes of a Shoot that no controller can apply to the control plane, the networks and the
// machines that exist. seedName and the domain have rules of their own.
func ShootChange(shoot, old *gardencorev1beta1.Shoot) field.ErrorList {
	spec, before, path := &shoot.Spec, &old.Spec, field.NewPath("spec")
	errs := unchangedOnceSet(path.Child("region"), &spec.Region, &before.Region)
	errs = append(errs,
		unchangedOnceSet(path.Child("provider", "type"), &spec.Provider.Type, &before.Provider.Type)...)
	errs = append(errs, profileUnchanged(spec, before)...)
	errs = append(errs,
		unchangedOnceSet(path.Child("secretBindingName"), migratedBinding(spec, before), before.SecretBindingName)...)
	if before.CredentialsBindingName != nil && spec.CredentialsBindingName == nil {
		errs = append(errs, field.Forbidden(path.Child("credentialsBindingName"),
			"must not be unset: name another CredentialsBinding to change it"))
	}
	errs = append(errs, unchangedOnceSet(path.Child("controlPlane", "highAvailability", "failureTolerance", "type"),
		tolerance(spec), tolerance(before))...)
	errs = append(errs, networkingUnchanged(shoot, old)...)
	return append(errs, workersUnchanged(spec.Provider.Workers, before.Provider.Workers)...)
}

// profileUnchanged compares names, in whichever field they are: one is the old form of the other.
func profileUnchanged(spec, before *gardencorev1beta1.ShootSpec) field.ErrorList {
	path, now := field.NewPath("spec", "cloudProfileName"), profileName(spec)
	if spec.CloudProfile != nil {
		path = field.NewPath("spec", "cloudProfile", "name")
	}
	return unchangedOnceSet(path, &now, ptr.To(profileName(before)))
}

func profileName(spec *gardencorev1beta1.ShootSpec) string {
	if spec.CloudProfile != nil {
		return spec.CloudProfile.Name
	}
	return ptr.Deref(spec.CloudProfileName, "")
}

// migratedBinding is the SecretBinding of a shoot, or that of before where a CredentialsBinding has taken its place.
func migratedBinding(spec, before *gardencorev1beta1.ShootSpec) *string {
	if spec.SecretBindingName == nil && spec.CredentialsBindingName != nil {
		return before.SecretBindingName
	}
	return spec.SecretBindingName
}

func tolerance(spec *gardencorev1beta1.ShootSpec) *string {
	if spec.ControlPlane == nil || spec.ControlPlane.HighAvailability == nil {
		return nil
	}
	return ptr.To(string(spec.ControlPlane.HighAvailability.FailureTolerance.Type))
}

// networkingUnchanged: everything that runs has addresses of these ranges.
func networkingUnchanged(shoot, old *gardencorev1beta1.Shoot) field.ErrorList {
	path := field.NewPath("spec", "networking")
	now, before := ptr.Deref(shoot.Spec.Networking, gardencorev1beta1.Networking{}),
		ptr.Deref(old.Spec.Networking, gardencorev1beta1.Networking{})
	errs := unchangedOnceSet(path.Child("type"), cmp.Or(now.Type, &shoot.Spec.Provider.Type),
		cmp.Or(before.Type, &old.Spec.Provider.Type))
	errs = append(errs, unchangedOnceSet(path.Child("pods"), now.Pods, before.Pods)...)
	errs = append(errs, unchangedOnceSet(path.Child("services"), now.Services, before.Services)...)
	if before.Nodes == nil && now.Nodes != nil {
		errs = append(errs, field.Forbidden(path.Child("nodes"),
			"must stay empty: the infrastructure has chosen its own network"))
	}
	errs = append(errs, unchangedOnceSet(path.Child("nodes"), now.Nodes, before.Nodes)...)
	return errs
}

// workersUnchanged: a shoot always has workers or never. The machines of a pool stay in their zones; machines are
// grouped by the position of their zone in the list.
func workersUnchanged(workers, before []gardencorev1beta1.Worker) field.ErrorList {
	switch {
	case len(workers) == 0 && len(before) > 0:
		return field.ErrorList{field.Forbidden(workersPath(),
			"must not become empty: a shoot with workers cannot become a workerless one")}
	case len(workers) > 0 && len(before) == 0:
		return field.ErrorList{field.Forbidden(workersPath(), "must stay empty: a workerless shoot cannot get workers")}
	}
	var errs field.ErrorList
	for i, worker := range workers {
		b := slices.IndexFunc(before, func(w gardencorev1beta1.Worker) bool { return w.Name == worker.Name })
		if b < 0 {
			continue
		}
		errs = append(errs, zonesAppended(workersPath().Index(i).Child("zones"), worker.Zones, before[b].Zones)...)
	}
	return errs
}

func zonesAppended(path *field.Path, zones, before []string) field.ErrorList {
	switch {
	case len(before) == 0 && len(zones) > 0:
		return field.ErrorList{field.Invalid(path, zones,
			"must stay empty: the pool's machines are in the default zone of the region")}
	case len(zones) < len(before) || !slices.Equal(zones[:len(before)], before):
		return field.ErrorList{field.Invalid(path, zones,
			fmt.Sprintf("must begin with the zones that the pool's machines are in, %v: further ones come after them",
				before))}
	}
	return nil
}
