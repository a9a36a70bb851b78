package versionrules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/image"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// image checks the machine image of a pool: that it is offered, that it may be changed to, and that it fits.
func (r rules) image(path *field.Path, worker, before *gardencorev1beta1.Worker) field.ErrorList {
	wanted := worker.Machine.Image
	if wanted == nil || wanted.Version == nil || r.imageStays(worker, before) {
		return nil
	}
	if _, err := version.Parse(*wanted.Version); err != nil {
		return field.ErrorList{field.Invalid(path.Child("version"), *wanted.Version, notSemantic)}
	}
	i := slices.IndexFunc(r.profile.Spec.MachineImages, func(offered gardencorev1beta1.MachineImage) bool {
		return offered.Name == wanted.Name
	})
	if i < 0 {
		var names []string
		for _, offered := range r.profile.Spec.MachineImages {
			names = append(names, offered.Name)
		}
		return field.ErrorList{field.NotSupported(path.Child("name"), wanted.Name, names)}
	}
	return r.imageVersion(path.Child("version"), &r.profile.Spec.MachineImages[i], worker, before)
}

// imageStays is whether nothing has changed that an image must fit.
func (r rules) imageStays(worker, before *gardencorev1beta1.Worker) bool {
	return before != nil && before.Machine.Image != nil &&
		worker.Machine.Image.Name == before.Machine.Image.Name &&
		equality.Semantic.DeepEqual(worker.Machine.Image.Version, before.Machine.Image.Version) &&
		equality.Semantic.DeepEqual(worker.Machine.Architecture, before.Machine.Architecture) &&
		equality.Semantic.DeepEqual(worker.CRI, before.CRI) &&
		worker.Machine.Type == before.Machine.Type &&
		worker.KubernetesVersion(r.shoot) == before.KubernetesVersion(r.old)
}

func (r rules) imageVersion(path *field.Path, offered *gardencorev1beta1.MachineImage, worker,
	before *gardencorev1beta1.Worker) field.ErrorList {
	text := *worker.Machine.Image.Version
	pool := r.imagePool(worker, before)
	previous := previousVersion(worker, before)
	i := slices.IndexFunc(offered.Versions, func(v gardencorev1beta1.MachineImageVersion) bool {
		return v.Version == text
	})
	var errs field.ErrorList
	switch {
	case previous == text && (i < 0 || r.misfitBefore(offered.Versions[i], before)):
		return nil // no worse than before
	case i < 0:
		return field.ErrorList{field.NotSupported(path, text, fitting(offered, pool, r))}
	case previous != text:
		// A version that has expired is only gone to on the way up.
		errs = class(path, fmt.Sprintf("machine image %q version", offered.Name), text,
			version.ClassAt(offered.Versions[i].ExpirableVersion, r.now), higher(text, previous))
	}
	if why := pool.Misfit(offered.Versions[i]); why != "" {
		errs = append(errs, field.Invalid(path, text,
			fmt.Sprintf("cannot be used by worker pool %q: it %s; versions that fit: %v", worker.Name, why,
				fitting(offered, pool, r))))
	}
	return errs
}

// misfitBefore is whether a version did not fit the pool as it was.
func (r rules) misfitBefore(v gardencorev1beta1.MachineImageVersion, before *gardencorev1beta1.Worker) bool {
	was := rules{profile: r.profile, now: r.now, shoot: r.old}
	return was.imagePool(before, nil).Misfit(v) != ""
}

// imagePool is what the image must fit; in-place updates start from the version before.
func (r rules) imagePool(worker, before *gardencorev1beta1.Worker) image.Pool {
	pool := image.Pool{Worker: worker, Capabilities: r.profile.Spec.MachineCapabilities}
	if before != nil && before.Machine.Image != nil {
		from := worker.DeepCopy()
		from.Machine.Image.Version = before.Machine.Image.Version
		pool.Worker = from
	}
	if kubelet, err := version.Parse(worker.KubernetesVersion(r.shoot)); err == nil {
		pool.Kubelet = kubelet
	}
	for i := range r.profile.Spec.MachineTypes {
		if r.profile.Spec.MachineTypes[i].Name == worker.Machine.Type {
			pool.MachineType = &r.profile.Spec.MachineTypes[i]
		}
	}
	return pool
}

// previousVersion is the version of the same image before, or "".
func previousVersion(worker, before *gardencorev1beta1.Worker) string {
	if before == nil || before.Machine.Image == nil || before.Machine.Image.Version == nil ||
		before.Machine.Image.Name != worker.Machine.Image.Name {
		return ""
	}
	return *before.Machine.Image.Version
}

func higher(text, than string) bool {
	a, err := version.Parse(text)
	if err != nil {
		return false
	}
	b, err := version.Parse(than)
	return err == nil && a.GreaterThan(b)
}

// fitting are the versions of an image that a new pool of the kind could have.
func fitting(offered *gardencorev1beta1.MachineImage, pool image.Pool, r rules) []string {
	var versions []gardencorev1beta1.ExpirableVersion
	for _, v := range offered.Versions {
		if pool.Misfit(v) == "" {
			versions = append(versions, v.ExpirableVersion)
		}
	}
	offers, _ := version.OffersAt(versions, r.now)
	return texts(offers, false)
}
