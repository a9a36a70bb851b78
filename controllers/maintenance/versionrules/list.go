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

const notSemantic = "must be a semantic version, for example 1.34.2"

// list is a list of versions of one thing: of Kubernetes, or of one machine image.
type list struct {
	path          *field.Path
	now           time.Time
	versions, old []gardencorev1beta1.ExpirableVersion
}

func (l list) validate() field.ErrorList {
	if len(l.versions) == 0 {
		return field.ErrorList{field.Required(l.path, "must provide at least one version")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, v := range l.versions {
		path := l.path.Index(i)
		number, err := semver.NewVersion(v.Version)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("version"), v.Version, notSemantic))
			continue
		}
		if seen[number.String()] {
			errs = append(errs, field.Duplicate(path.Child("version"), v.Version))
		}
		seen[number.String()] = true
		errs = append(errs, validateLife(path, v)...)
		errs = append(errs, l.validateChange(path, v)...)
	}
	return append(errs, l.oneSupported()...)
}

// settable are the classes that may be written as a classification: the others follow from times.
var settable = []gardencorev1beta1.VersionClassification{
	gardencorev1beta1.ClassificationPreview, gardencorev1beta1.ClassificationSupported,
	gardencorev1beta1.ClassificationDeprecated,
}

// stages are the classes that a lifecycle may have, in their order.
var stages = append(settable[:3:3], gardencorev1beta1.ClassificationExpired)

func validateLife(path *field.Path, v gardencorev1beta1.ExpirableVersion) field.ErrorList {
	var errs field.ErrorList
	if v.Classification != nil && !sets.New(settable...).Has(*v.Classification) {
		errs = append(errs, field.NotSupported(path.Child("classification"), *v.Classification, settable))
	}
	if len(v.Lifecycle) == 0 {
		return errs
	}
	const either = "must not be set together with lifecycle"
	if v.Classification != nil {
		errs = append(errs, field.Forbidden(path.Child("classification"), either))
	}
	if v.ExpirationDate != nil {
		errs = append(errs, field.Forbidden(path.Child("expirationDate"), either))
	}
	return append(errs, validateStages(path.Child("lifecycle"), v.Lifecycle)...)
}

func validateStages(path *field.Path, lifecycle []gardencorev1beta1.LifecycleStage) field.ErrorList {
	var errs field.ErrorList
	order := map[gardencorev1beta1.VersionClassification]int{}
	for i, class := range stages {
		order[class] = i
	}
	for i, stage := range lifecycle {
		at := path.Index(i)
		if _, known := order[stage.Classification]; !known {
			errs = append(errs, field.NotSupported(at.Child("classification"), stage.Classification, stages))
			continue
		}
		if i == 0 {
			continue
		}
		previous := lifecycle[i-1]
		switch {
		case stage.Classification == previous.Classification:
			errs = append(errs, field.Duplicate(at.Child("classification"), stage.Classification))
		case order[stage.Classification] < order[previous.Classification]:
			errs = append(errs, field.Invalid(at.Child("classification"), stage.Classification,
				fmt.Sprintf("must not come after %s: the order is preview, supported, deprecated, expired",
					previous.Classification)))
		}
		switch {
		case stage.StartTime == nil:
			errs = append(errs, field.Required(at.Child("startTime"), "only the first stage may have none"))
		case previous.StartTime != nil && !previous.StartTime.Time.Before(stage.StartTime.Time):
			errs = append(errs, field.Invalid(at.Child("startTime"), stage.StartTime.UTC().Format(time.RFC3339),
				"must be after the start of the stage before"))
		}
	}
	return errs
}

// validateChange compares a version with the one of the same name before.
func (l list) validateChange(path *field.Path, v gardencorev1beta1.ExpirableVersion) field.ErrorList {
	class := version.ClassAt(v, l.now)
	for _, before := range l.old {
		if before.Version != v.Version {
			continue
		}
		if class == gardencorev1beta1.ClassificationUnavailable && version.ClassAt(before,
			l.now) != gardencorev1beta1.ClassificationUnavailable {
			return field.ErrorList{field.Forbidden(path.Child("lifecycle"),
				fmt.Sprintf("version %s is available already and cannot become unavailable again", v.Version))}
		}
		return nil
	}
	if expires, known := version.ExpiresAt(v); known && expires.Before(l.now) {
		at := path.Child("expirationDate")
		if v.ExpirationDate == nil {
			at = path.Child("lifecycle")
		}
		return field.ErrorList{field.Invalid(at, expires.UTC().Format(time.RFC3339),
			fmt.Sprintf("must not be in the past: version %s is new", v.Version))}
	}
	return nil
}

// oneSupported is the rule that a minor version has one supported version at a time. Versions of which nothing is said
// do not count: a profile may do without classes.
func (l list) oneSupported() field.ErrorList {
	var errs field.ErrorList
	type claim struct {
		version  string
		from, to time.Time
	}
	claims := map[[2]uint64][]claim{}
	for i, v := range l.versions {
		number, err := semver.NewVersion(v.Version)
		from, to, claimed := supportedSpan(v, l.now)
		if err != nil || !claimed {
			continue
		}
		minor := [2]uint64{number.Major(), number.Minor()}
		for _, other := range claims[minor] {
			if from.Before(other.to) && other.from.Before(to) {
				errs = append(errs, field.Forbidden(l.path.Index(i), fmt.Sprintf(
					"there can be only one supported version of %d.%d at a time, and %s is one already: make %s preview or deprecated",
					minor[0], minor[1], other.version, v.Version)))
				break
			}
		}
		claims[minor] = append(claims[minor], claim{v.Version, from, to})
	}
	return errs
}

// forever is later than any date in a profile.
var forever = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// supportedSpan is from when to when, from now on, a version says that it is supported.
func supportedSpan(v gardencorev1beta1.ExpirableVersion, now time.Time) (from, to time.Time, claimed bool) {
	if len(v.Lifecycle) == 0 && v.Classification == nil {
		return from, to, false
	}
	all := version.Stages(v)
	for i, stage := range all {
		if stage.Classification != gardencorev1beta1.ClassificationSupported {
			continue
		}
		from, to = now, forever
		if stage.StartTime != nil && stage.StartTime.After(now) {
			from = stage.StartTime.Time
		}
		if i+1 < len(all) && all[i+1].StartTime != nil {
			to = all[i+1].StartTime.Time
		}
		return from, to, to.After(from)
	}
	return from, to, false
}
