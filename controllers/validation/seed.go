package validation

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// SeedAnnotations are the annotations of Seeds whose values are checked.
func SeedAnnotations() []string { return []string{constants.ShootEmergencyStopReconciliations} }

// Seed validates a Seed.
func Seed(seed *gardencorev1beta1.Seed) field.ErrorList {
	spec, path := &seed.Spec, field.NewPath("spec")
	errs := label(field.NewPath("metadata", "name"), seed.Name)
	if seed.Name == constants.SeedOutside {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), seed.Name,
			"must be another: it says of a Shoot that its control plane runs outside any seed"))
	}
	for _, key := range SeedAnnotations() {
		if value := seed.Annotations[key]; value != "" && truth(nil, value) != "" {
			errs = append(errs, field.Invalid(annotation(key), value, truth(nil, value)))
		}
	}
	restrictions := seen{}
	for i, restriction := range spec.AccessRestrictions {
		errs = append(errs,
			restrictions.once(path.Child("accessRestrictions").Index(i).Child("name"), restriction.Name)...)
	}
	if spec.Backup != nil {
		errs = append(errs, filled(path.Child("backup", "provider"), spec.Backup.Provider,
			"must name the type of the bucket's provider")...)
	}
	errs = append(errs, seedDNS(path.Child("dns"), spec)...)
	errs = append(errs, seedNetworks(path.Child("networks"), &spec.Networks)...)
	errs = append(errs, seedProvider(path.Child("provider"), &spec.Provider)...)
	errs = append(errs, seedTaints(path.Child("taints"), spec.Taints)...)
	if settings := spec.Settings; settings != nil && settings.ZoneSelection != nil {
		errs = append(errs,
			oneOf(path.Child("settings", "zoneSelection", "mode"), settings.ZoneSelection.Mode, zoneSelections)...)
	}
	return errs
}

// zoneSelections are how a seed may choose by the zones of shoots.
var zoneSelections = []string{"Prefer", "Enforce"}

func seedDNS(path *field.Path, spec *gardencorev1beta1.SeedSpec) field.ErrorList {
	var errs field.ErrorList
	if internal := spec.DNS.Internal; internal != nil {
		errs = append(errs, subdomain(path.Child("internal", "domain"), internal.Domain)...)
	}
	domains := seen{}
	for i, offered := range spec.DNS.Defaults {
		at := path.Child("defaults").Index(i)
		errs = append(errs, subdomain(at.Child("domain"), offered.Domain)...)
		errs = append(errs, domains.once(at.Child("domain"), offered.Domain)...)
		errs = append(errs,
			filled(at.Child("type"), offered.Type, "must name the type of the domain's DNS provider")...)
		if offered.Zone != nil {
			errs = append(errs,
				filled(at.Child("zone"), *offered.Zone, "must name the zone of the domain, or be left out")...)
		}
	}
	return errs
}

func seedNetworks(path *field.Path, given *gardencorev1beta1.SeedNetworks) field.ErrorList {
	errs := filled(path.Child("pods"), given.Pods, "must be the range of the seed's pods")
	errs = append(errs, filled(path.Child("services"), given.Services, "must be the range of the seed's services")...)
	errs = append(errs, families(path.Child("ipFamilies"), given.IPFamilies)...)
	return append(errs, networks([]network{
		{path.Child("pods"), given.Pods}, {path.Child("services"), given.Services},
		{path.Child("nodes"), ptr.Deref(given.Nodes, "")},
	})...)
}

// seedProvider wants zones that can be a part of the name of a gateway's namespace.
func seedProvider(path *field.Path, provider *gardencorev1beta1.SeedProvider) field.ErrorList {
	errs := filled(path.Child("type"), provider.Type, "must name the type of the seed's provider")
	errs = append(errs, filled(path.Child("region"), provider.Region, "must name the region of the seed")...)
	zones := seen{}
	for i, zone := range provider.Zones {
		errs = append(errs, label(path.Child("zones").Index(i), zone)...)
		errs = append(errs, zones.once(path.Child("zones").Index(i), zone)...)
	}
	return errs
}

func seedTaints(path *field.Path, taints []gardencorev1beta1.SeedTaint) field.ErrorList {
	var errs field.ErrorList
	given := seen{}
	for i, taint := range taints {
		errs = append(errs, qualified(path.Index(i).Child("key"), taint.Key)...)
		errs = append(errs, given.once(path.Index(i).Child("key"), taint.Key)...)
		if taint.Value != nil {
			errs = append(errs, labelValue(path.Index(i).Child("value"), *taint.Value)...)
		}
	}
	return errs
}

// SeedChange refuses changes of a Seed that its shoots do not survive: of the domain, the networks and the bucket.
func SeedChange(seed, old *gardencorev1beta1.Seed) field.ErrorList {
	spec, before, path := &seed.Spec, &old.Spec, field.NewPath("spec")
	errs := unchangedOnceSet(path.Child("networks", "pods"), &spec.Networks.Pods, &before.Networks.Pods)
	errs = append(errs,
		unchangedOnceSet(path.Child("networks", "services"), &spec.Networks.Services, &before.Networks.Services)...)
	errs = append(errs,
		unchangedOnceSet(path.Child("networks", "nodes"), spec.Networks.Nodes, before.Networks.Nodes)...)
	errs = append(errs,
		unchangedOnceSet(path.Child("dns", "internal", "domain"), internalDomain(spec), internalDomain(before))...)
	if before.Backup == nil {
		return errs
	}
	if spec.Backup == nil {
		return append(errs,
			field.Forbidden(path.Child("backup"), "must not be unset: the backups of the seed's shoots are there"))
	}
	errs = append(errs,
		unchangedOnceSet(path.Child("backup", "provider"), &spec.Backup.Provider, &before.Backup.Provider)...)
	return append(errs,
		unchangedOnceSet(path.Child("backup", "region"), backupRegion(spec), backupRegion(before))...)
}

func internalDomain(spec *gardencorev1beta1.SeedSpec) *string {
	if spec.DNS.Internal == nil {
		return nil
	}
	return &spec.DNS.Internal.Domain
}

// backupRegion is where the bucket is: in the seed's region, unless the seed names another.
func backupRegion(spec *gardencorev1beta1.SeedSpec) *string {
	return cmp.Or(spec.Backup.Region, &spec.Provider.Region)
}
