package admission

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
	"github.com/transplant-sim/transplant/controllers/placement"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// changesVersions reports whether there are versions to judge: the shoot is new, or something changed that determines
// them. A version keeps nobody from deleting a shoot.
func (r *request) changesVersions() bool {
	switch {
	case r.shoot == nil:
		return false
	case r.old == nil:
		return true
	}
	before, now := &r.old.Spec, &r.shoot.Spec
	return r.old.DeletionTimestamp == nil &&
		(before.Kubernetes.Version != now.Kubernetes.Version ||
			!equality.Semantic.DeepEqual(before.Provider.Workers, now.Provider.Workers) ||
			!equality.Semantic.DeepEqual(before.CloudProfile, now.CloudProfile) ||
			!equality.Semantic.DeepEqual(before.CloudProfileName, now.CloudProfileName))
}

// versionsFit asks the rules about Kubernetes versions and machine images (docs/specification/versions.md#spec-4-3;
// shoot versions). A profile that does not exist has been reported before.
func versionsFit(r *request, g *garden) field.ErrorList {
	if !r.changesVersions() {
		return nil
	}
	if g.profile == nil {
		if name, _, unknown := placement.ProfileOf(r.shoot); name != "" || unknown != nil {
			return nil
		}
		return field.ErrorList{field.Required(field.NewPath("spec", "cloudProfile", "name"),
			"must name the CloudProfile that offers the shoot's versions")}
	}
	return versionrules.ValidateShootUpdate(r.shoot, r.old, g.profile, g.now)
}

// inPlaceHolds keeps what cannot change about pools whose nodes are updated in place
// (docs/specification/versions.md#spec-4-9).
func inPlaceHolds(r *request, _ *garden) field.ErrorList {
	if r.old == nil || r.shoot == nil || r.old.DeletionTimestamp != nil {
		return nil
	}
	return rollout.ValidateInPlace(r.shoot, r.old)
}

// inPlaceEnabled refuses new pools that would be updated in place where the operators have not enabled that
// (docs/specification/versions.md#spec-4-9: the feature gate InPlaceNodeUpdates). Pools that are there keep what they
// have.
func inPlaceEnabled(r *request, g *garden) field.ErrorList {
	if r.shoot == nil || g.inPlaceUpdates {
		return nil
	}
	var errs field.ErrorList
	for i := range r.shoot.Spec.Provider.Workers {
		worker := &r.shoot.Spec.Provider.Workers[i]
		if rollout.UpdatesInPlace(worker) && workerBefore(r.old, worker.Name).Name == "" {
			path := field.NewPath("spec", "provider", "workers").Index(i).Child("updateStrategy")
			errs = append(errs, field.NotSupported(path, *worker.UpdateStrategy,
				[]gardencorev1beta1.MachineUpdateStrategy{gardencorev1beta1.AutoRollingUpdate}))
		}
	}
	return errs
}

// profileShoots are the shoots that use a CloudProfile.
func profileShoots(name string, shoots []gardencorev1beta1.Shoot) []gardencorev1beta1.Shoot {
	var users []gardencorev1beta1.Shoot
	for i := range shoots {
		if used, _, unknown := placement.ProfileOf(&shoots[i]); unknown == nil && used == name {
			users = append(users, shoots[i])
		}
	}
	return users
}
