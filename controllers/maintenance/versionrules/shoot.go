package versionrules

import (
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// MaxSkew is how many minor versions a worker pool may be behind the control plane
// (docs/specification/versions.md#spec-4-3).
const MaxSkew = 3

// ValidateShoot checks the versions of a shoot against its CloudProfile. What has not changed is not checked again; old
// is nil for a shoot that is created.
func ValidateShoot(shoot, old *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfile,
	now time.Time) field.ErrorList {
	offers, _ := version.OffersAt(profile.Spec.Kubernetes.Versions, now)
	r := rules{profile: profile, now: now, kubernetes: offers, shoot: shoot, old: old}
	errs := r.controlPlane(field.NewPath("spec", "kubernetes", "version"))
	for i := range shoot.Spec.Provider.Workers {
		path := field.NewPath("spec", "provider", "workers").Index(i)
		worker := &shoot.Spec.Provider.Workers[i]
		before := findWorker(old, worker.Name)
		errs = append(errs, r.pool(path.Child("kubernetes", "version"), worker, before)...)
		errs = append(errs, r.image(path.Child("machine", "image"), worker, before)...)
	}
	return errs
}

// rules are what is checked against.
type rules struct {
	profile    *gardencorev1beta1.CloudProfile
	now        time.Time
	kubernetes version.Offers
	shoot, old *gardencorev1beta1.Shoot
}

func findWorker(shoot *gardencorev1beta1.Shoot, name string) *gardencorev1beta1.Worker {
	if shoot == nil {
		return nil
	}
	workers := shoot.Spec.Provider.Workers
	if i := slices.IndexFunc(workers, func(w gardencorev1beta1.Worker) bool { return w.Name == name }); i >= 0 {
		return &workers[i]
	}
	return nil
}

func (r rules) controlPlane(path *field.Path) field.ErrorList {
	text := r.shoot.Spec.Kubernetes.Version
	to, err := version.Parse(text)
	if err != nil {
		return field.ErrorList{field.Invalid(path, text, notSemantic)}
	}
	if r.old == nil {
		return r.offered(path, to, text, false)
	}
	from, err := version.Parse(r.old.Spec.Kubernetes.Version)
	if err != nil {
		return r.offered(path, to, text, true)
	}
	switch {
	case to.Equal(from):
		return nil
	case to.LessThan(from):
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("Kubernetes version downgrade is not supported, %s is lower than %s", text,
				r.old.Spec.Kubernetes.Version))}
	case SkipsMinor(from, to):
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("Kubernetes version upgrade cannot skip a minor version, from %s go to %d.%d first",
				r.old.Spec.Kubernetes.Version, from.Major(), from.Minor()+1))}
	}
	return r.offered(path, to, text, true)
}

// SkipsMinor is whether an upgrade of Kubernetes leaves out a minor version.
func SkipsMinor(from, to *semver.Version) bool {
	return to.Major() != from.Major() || to.Minor() > from.Minor()+1
}

// offered is whether a Kubernetes version can be had; an expired one by an update only.
func (r rules) offered(path *field.Path, number *semver.Version, text string, update bool) field.ErrorList {
	offer, found := r.kubernetes.Find(number)
	if !found {
		return field.ErrorList{field.NotSupported(path, text, texts(r.kubernetes, update))}
	}
	return class(path, "Kubernetes version", text, offer.Class, update)
}

func class(path *field.Path, what, text string, class gardencorev1beta1.VersionClassification,
	expiredToo bool) field.ErrorList {
	switch {
	case class == gardencorev1beta1.ClassificationUnavailable:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("%s %s is not available yet", what, text))}
	case class == gardencorev1beta1.ClassificationExpired && !expiredToo:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("%s %s has expired", what, text))}
	}
	return nil
}

// texts are the versions that would be accepted.
func texts(offers version.Offers, expiredToo bool) []string {
	var all []string
	for _, offer := range offers {
		if class(nil, "", "", offer.Class, expiredToo) == nil {
			all = append(all, offer.Text)
		}
	}
	return all
}

// pool checks the Kubernetes version of a pool's nodes: against the control plane, and against what it was.
func (r rules) pool(path *field.Path, worker, before *gardencorev1beta1.Worker) field.ErrorList {
	own := worker.Kubernetes != nil && worker.Kubernetes.Version != nil
	text := worker.KubernetesVersion(r.shoot)
	to, err := version.Parse(text)
	if err != nil {
		if !own {
			return nil // reported at the control plane
		}
		return field.ErrorList{field.Invalid(path, text, notSemantic)}
	}
	var errs field.ErrorList
	if own {
		errs = r.skew(path, to, text)
	}
	if before == nil {
		if own && !same(text, r.shoot.Spec.Kubernetes.Version) {
			errs = append(errs, r.offered(path, to, text, false)...)
		}
		return errs
	}
	return append(errs, r.poolChange(path, to, text, before, own, worker.UpdatesInPlace())...)
}

func (r rules) skew(path *field.Path, own *semver.Version, text string) field.ErrorList {
	controlPlane, err := version.Parse(r.shoot.Spec.Kubernetes.Version)
	switch {
	case err != nil:
		return nil // reported at the control plane
	case own.GreaterThan(controlPlane):
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("worker pool version %s must not be higher than the control plane's, which is %s", text,
				r.shoot.Spec.Kubernetes.Version))}
	case own.Major() != controlPlane.Major() || own.Minor()+MaxSkew < controlPlane.Minor():
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("worker pool version %s must not be more than %d minor versions lower than the control plane's, "+
				"which is %s", text, MaxSkew, r.shoot.Spec.Kubernetes.Version))}
	}
	return nil
}

// poolChange compares with what the pool's nodes ran before. Whoever removes the pool's own version falls back to the
// control plane's.
func (r rules) poolChange(path *field.Path, to *semver.Version, text string, before *gardencorev1beta1.Worker, own,
	inPlace bool) field.ErrorList {
	was := before.KubernetesVersion(r.old)
	from, err := version.Parse(was)
	switch {
	case err != nil || to.Equal(from):
		return nil
	case to.LessThan(from):
		if !own {
			return nil // reported at the control plane
		}
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("Kubernetes version downgrade is not supported, %s is lower than %s", text, was))}
	case inPlace && SkipsMinor(from, to):
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("worker pools that are updated in place cannot skip a minor version, from %s go to %d.%d first", was,
				from.Major(), from.Minor()+1))}
	case own && !same(text, r.shoot.Spec.Kubernetes.Version):
		return r.offered(path, to, text, true)
	}
	return nil
}
