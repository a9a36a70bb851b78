package versionrules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// ValidateVersionsInUse refuses to take a version from a CloudProfile that one of the shoots uses, be it for the
// control plane or for a worker pool. The shoots are those that use the profile.
func ValidateVersionsInUse(profile, old *gardencorev1beta1.CloudProfile,
	shoots []gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "kubernetes", "versions")
	for _, v := range old.Spec.Kubernetes.Versions {
		kept := slices.ContainsFunc(profile.Spec.Kubernetes.Versions, func(other gardencorev1beta1.ExpirableVersion) bool {
			return same(other.Version, v.Version)
		})
		if users := usersOf(shoots, func(s *gardencorev1beta1.Shoot) bool {
			return usesKubernetes(s, v.Version)
		}); !kept && len(users) > 0 {
			errs = append(errs, field.Forbidden(path, inUse("Kubernetes version", v.Version, users)))
		}
	}
	images := field.NewPath("spec", "machineImages")
	for _, image := range old.Spec.MachineImages {
		for _, v := range image.Versions {
			users := usersOf(shoots, func(s *gardencorev1beta1.Shoot) bool { return usesImage(s, image.Name, v.Version) })
			if !offersImage(profile, image.Name, v.Version) && len(users) > 0 {
				errs = append(errs, field.Forbidden(images, inUse(fmt.Sprintf("machine image %q version", image.Name), v.Version,
					users)))
			}
		}
	}
	return errs
}

func inUse(what, version string, users []string) string {
	const most = 3
	more := ""
	if len(users) > most {
		more = fmt.Sprintf(" and %d more", len(users)-most)
		users = users[:most]
	}
	return fmt.Sprintf("cannot remove the %s %s: it is in use by shoot %s%s", what, version, strings.Join(users, ", "),
		more)
}

func usersOf(shoots []gardencorev1beta1.Shoot, uses func(*gardencorev1beta1.Shoot) bool) []string {
	var users []string
	for i := range shoots {
		if uses(&shoots[i]) {
			users = append(users, shoots[i].Namespace+"/"+shoots[i].Name)
		}
	}
	slices.Sort(users)
	return users
}

func usesKubernetes(shoot *gardencorev1beta1.Shoot, v string) bool {
	return same(shoot.Spec.Kubernetes.Version, v) || slices.ContainsFunc(shoot.Spec.Provider.Workers,
		func(w gardencorev1beta1.Worker) bool {
			return w.Kubernetes != nil && w.Kubernetes.Version != nil && same(*w.Kubernetes.Version, v)
		})
}

func usesImage(shoot *gardencorev1beta1.Shoot, name, v string) bool {
	return slices.ContainsFunc(shoot.Spec.Provider.Workers, func(w gardencorev1beta1.Worker) bool {
		return w.Machine.Image != nil && w.Machine.Image.Name == name && w.Machine.Image.Version != nil &&
			*w.Machine.Image.Version == v
	})
}

func offersImage(profile *gardencorev1beta1.CloudProfile, name, v string) bool {
	return slices.ContainsFunc(profile.Spec.MachineImages, func(image gardencorev1beta1.MachineImage) bool {
		return image.Name == name && slices.ContainsFunc(image.Versions,
			func(other gardencorev1beta1.MachineImageVersion) bool {
				return other.Version == v
			})
	})
}

// same is whether two texts are the same Kubernetes version.
func same(a, b string) bool {
	left, leftErr := version.Parse(a)
	right, rightErr := version.Parse(b)
	if leftErr != nil || rightErr != nil {
		return a == b
	}
	return left.Equal(right)
}
