package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Surroundings are what a Shoot is judged against, beside itself.
type Surroundings struct {
	// Project is the name of the shoot's project; empty leaves its name alone.
	Project string
	// Profile is the shoot's CloudProfile; nil leaves out what is compared with it.
	Profile *gardencorev1beta1.CloudProfile
}

// Shoot checks everything about a Shoot that follows from itself and from its CloudProfile. Versions are not checked.
func Shoot(shoot *gardencorev1beta1.Shoot, around Surroundings) field.ErrorList {
	errs := shootName(shoot, around.Project)
	for _, check := range shootChecks() {
		errs = append(errs, check(shoot)...)
	}
	if around.Profile != nil {
		errs = append(errs, shootInProfile(shoot, around.Profile)...)
	}
	return errs
}

// shootChecks are the checks that need the Shoot only.
func shootChecks() []func(*gardencorev1beta1.Shoot) field.ErrorList {
	return []func(*gardencorev1beta1.Shoot) field.ErrorList{
		shootAnnotations, shootDNS, shootExtensions, hibernationSchedules, kubernetes, maintenance, networking, workers,
		shootBasics, shootCredentials, shootResources, shootTolerations,
	}
}

// purposes are those that evacuation knows an order of.
var purposes = []gardencorev1beta1.ShootPurpose{
	gardencorev1beta1.ShootPurposeEvaluation, gardencorev1beta1.ShootPurposeTesting,
	gardencorev1beta1.ShootPurposeDevelopment,
	gardencorev1beta1.ShootPurposeProduction, gardencorev1beta1.ShootPurposeInfrastructure,
}

// shootBasics are the fields of the specification that stand alone.
func shootBasics(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	spec, path := &shoot.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.Region == "" {
		errs = append(errs, field.Required(path.Child("region"), "must name a region of the CloudProfile"))
	}
	if spec.Purpose != nil {
		errs = append(errs, oneOf(path.Child("purpose"), *spec.Purpose, purposes)...)
	}
	if spec.ExposureClassName != nil {
		errs = append(errs, label(path.Child("exposureClassName"), *spec.ExposureClassName)...)
	}
	if spec.SchedulerName != nil {
		errs = append(errs, subdomain(path.Child("schedulerName"), *spec.SchedulerName)...)
	}
	if seed := ptr.Deref(spec.SeedName, ""); seed != "" {
		errs = append(errs, label(path.Child("seedName"), seed)...)
	}
	if spec.SeedSelector != nil {
		errs = append(errs, seedSelector(path.Child("seedSelector"), spec.SeedSelector)...)
	}
	if plane := spec.ControlPlane; plane != nil && plane.HighAvailability != nil {
		errs = append(errs, oneOf(path.Child("controlPlane", "highAvailability", "failureTolerance", "type"),
			plane.HighAvailability.FailureTolerance.Type, failureTolerances)...)
	}
	names := seen{}
	for i, restriction := range spec.AccessRestrictions {
		errs = append(errs, names.once(path.Child("accessRestrictions").Index(i).Child("name"), restriction.Name)...)
	}
	return errs
}

var failureTolerances = []gardencorev1beta1.FailureToleranceType{
	gardencorev1beta1.FailureToleranceTypeNode, gardencorev1beta1.FailureToleranceTypeZone,
}

// shootCredentials wants one reference to credentials at most.
func shootCredentials(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	binding, credentials := shoot.Spec.SecretBindingName, shoot.Spec.CredentialsBindingName
	bindingPath, credentialsPath := field.NewPath("spec", "secretBindingName"),
		field.NewPath("spec", "credentialsBindingName")
	if binding != nil {
		errs = append(errs, subdomain(bindingPath, *binding)...)
	}
	if credentials != nil {
		errs = append(errs, subdomain(credentialsPath, *credentials)...)
	}
	if binding != nil && credentials != nil {
		errs = append(errs, field.Forbidden(bindingPath,
			"must not be set together with spec.credentialsBindingName: leave this one out"))
	}
	return errs
}

func shootTolerations(shoot *gardencorev1beta1.Shoot) field.ErrorList {
	return tolerations(field.NewPath("spec", "tolerations"), shoot.Spec.Tolerations)
}

// tolerations wants each but once. Of two with one key and different values the last counts
// (docs/specification/versions.md#spec-4-11-12): defaults may bring a second one.
func tolerations(path *field.Path, list []gardencorev1beta1.Toleration) field.ErrorList {
	var errs field.ErrorList
	given := seen{}
	for i, toleration := range list {
		at := path.Index(i)
		errs = append(errs, qualified(at.Child("key"), toleration.Key)...)
		if toleration.Value != nil {
			errs = append(errs, labelValue(at.Child("value"), *toleration.Value)...)
		}
		errs = append(errs, given.once(at, keyed(toleration.Key, toleration.Value))...)
	}
	return errs
}

// keyed is a key with its value, where it has one.
func keyed(key string, value *string) string {
	if value == nil {
		return key
	}
	return key + "=" + ptr.Deref(value, "")
}
