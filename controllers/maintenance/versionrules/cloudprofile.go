package versionrules

import (
	"fmt"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// ValidateCloudProfile checks the versions of a CloudProfile that is created. No version in it may have expired.
func ValidateCloudProfile(profile *gardencorev1beta1.CloudProfile, now time.Time) field.ErrorList {
	return ValidateCloudProfileUpdate(profile, &gardencorev1beta1.CloudProfile{}, now)
}

// ValidateCloudProfileUpdate checks the versions of a CloudProfile that is changed. No version that is new in it may
// have expired, and none that was available may become unavailable again.
func ValidateCloudProfileUpdate(profile, old *gardencorev1beta1.CloudProfile, now time.Time) field.ErrorList {
	path := field.NewPath("spec", "kubernetes", "versions")
	versions := list{path: path, now: now, versions: profile.Spec.Kubernetes.Versions, old: old.Spec.Kubernetes.Versions}
	errs := versions.validate()
	errs = append(errs, latestStays(versions)...)

	images := field.NewPath("spec", "machineImages")
	if len(profile.Spec.MachineImages) == 0 {
		errs = append(errs, field.Required(images, "must provide at least one machine image"))
	}
	names := sets.New[string]()
	for i := range profile.Spec.MachineImages {
		image := &profile.Spec.MachineImages[i]
		if names.Has(image.Name) {
			errs = append(errs, field.Duplicate(images.Index(i).Child("name"), image.Name))
		}
		names.Insert(image.Name)
		errs = append(errs, validateImage(images.Index(i), image, old, now)...)
	}
	return errs
}

// latestStays is for Kubernetes only: there must always be a version to be on.
func latestStays(l list) field.ErrorList {
	latest := -1
	for i := range l.versions {
		number, err := semver.NewVersion(l.versions[i].Version)
		if err != nil {
			continue
		}
		if latest < 0 || number.GreaterThan(semver.MustParse(l.versions[latest].Version)) {
			latest = i
		}
	}
	if latest < 0 {
		return nil
	}
	path, v := l.path.Index(latest), l.versions[latest]
	if v.ExpirationDate != nil {
		return field.ErrorList{field.Invalid(path.Child("expirationDate"), v.ExpirationDate.UTC().Format(time.RFC3339),
			fmt.Sprintf("the latest Kubernetes version must not expire: %s is the latest", v.Version))}
	}
	for s, stage := range v.Lifecycle {
		if stage.Classification == gardencorev1beta1.ClassificationExpired {
			return field.ErrorList{field.Forbidden(path.Child("lifecycle").Index(s),
				fmt.Sprintf("the latest Kubernetes version must not expire: %s is the latest", v.Version))}
		}
	}
	return nil
}

// strategies are the update strategies of machine images; the last is meant where none is named.
var strategies = []gardencorev1beta1.MachineImageUpdateStrategy{
	gardencorev1beta1.UpdateStrategyPatch, gardencorev1beta1.UpdateStrategyMinor, gardencorev1beta1.UpdateStrategyMajor,
}

func validateImage(path *field.Path, image *gardencorev1beta1.MachineImage, old *gardencorev1beta1.CloudProfile,
	now time.Time) field.ErrorList {
	var errs field.ErrorList
	if image.UpdateStrategy != nil && !sets.New(strategies...).Has(*image.UpdateStrategy) {
		errs = append(errs, field.NotSupported(path.Child("updateStrategy"), *image.UpdateStrategy, strategies))
	}
	l := list{path: path.Child("versions"), now: now}
	for _, v := range image.Versions {
		l.versions = append(l.versions, v.ExpirableVersion)
	}
	for _, before := range old.Spec.MachineImages {
		if before.Name == image.Name {
			for _, v := range before.Versions {
				l.old = append(l.old, v.ExpirableVersion)
			}
		}
	}
	errs = append(errs, l.validate()...)
	for i := range image.Versions {
		errs = append(errs, validateConstraints(l.path.Index(i), &image.Versions[i])...)
	}
	return errs
}

func validateConstraints(path *field.Path, v *gardencorev1beta1.MachineImageVersion) field.ErrorList {
	var errs field.ErrorList
	if v.KubeletVersionConstraint != nil {
		if _, err := semver.NewConstraint(*v.KubeletVersionConstraint); err != nil {
			errs = append(errs, field.Invalid(path.Child("kubeletVersionConstraint"), *v.KubeletVersionConstraint,
				"must be a range of versions, for example \">= 1.30, < 1.34\": "+err.Error()))
		}
	}
	if v.InPlaceUpdates != nil && v.InPlaceUpdates.MinVersionForUpdate != nil {
		if _, err := version.Parse(*v.InPlaceUpdates.MinVersionForUpdate); err != nil {
			errs = append(errs, field.Invalid(path.Child("inPlaceUpdates", "minVersionForUpdate"),
				*v.InPlaceUpdates.MinVersionForUpdate, notSemantic))
		}
	}
	return errs
}
