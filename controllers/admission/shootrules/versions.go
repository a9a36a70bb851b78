package shootrules

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/versionrules"
	"github.com/transplant-sim/transplant/controllers/placement"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// ChangesVersions reports whether there are versions to judge: the shoot is new, or something changed that determines
// them. A version keeps nobody from deleting a shoot.
func (r *Request) ChangesVersions() bool {
	switch {
	case r.Shoot == nil:
		return false
	case r.Old == nil:
		return true
	}
	before, now := &r.Old.Spec, &r.Shoot.Spec
	return r.Old.DeletionTimestamp == nil &&
		(before.Kubernetes.Version != now.Kubernetes.Version ||
			!equality.Semantic.DeepEqual(before.Provider.Workers, now.Provider.Workers) ||
			!equality.Semantic.DeepEqual(before.CloudProfile, now.CloudProfile) ||
			!equality.Semantic.DeepEqual(before.CloudProfileName, now.CloudProfileName))
}

// versionsFit asks the rules about Kubernetes versions and machine images (docs/specification/versions.md#spec-4-3;
// shoot versions). A profile that does not exist has been reported before.
func versionsFit(r *Request, g *garden) field.ErrorList {
	if !r.ChangesVersions() {
		return nil
	}
	if g.profile == nil {
		if name, _, unknown := placement.ProfileOf(r.Shoot); name != "" || unknown != nil {
			return nil
		}
		return field.ErrorList{field.Required(field.NewPath("spec", "cloudProfile", "name"),
			"must name the CloudProfile that offers the shoot's versions")}
	}
	return versionrules.ValidateShoot(r.Shoot, r.Old, g.profile, g.now)
}

// inPlaceHolds keeps what cannot change about pools whose nodes are updated in place
// (docs/specification/versions.md#spec-4-9).
func inPlaceHolds(r *Request, _ *garden) field.ErrorList {
	if r.Old == nil || r.Shoot == nil || r.Old.DeletionTimestamp != nil {
		return nil
	}
	return rollout.ValidateInPlace(r.Shoot, r.Old)
}

// inPlaceEnabled refuses new pools that would be updated in place where the operators have not enabled that
// (docs/specification/versions.md#spec-4-9: the feature gate InPlaceNodeUpdates). Pools that are there keep what they
// have.
func inPlaceEnabled(r *Request, g *garden) field.ErrorList {
	if r.Shoot == nil || g.inPlaceUpdates {
		return nil
	}
	var errs field.ErrorList
	for i := range r.Shoot.Spec.Provider.Workers {
		worker := &r.Shoot.Spec.Provider.Workers[i]
		if worker.UpdatesInPlace() && r.WorkerBefore(worker.Name).Name == "" {
			path := field.NewPath("spec", "provider", "workers").Index(i).Child("updateStrategy")
			errs = append(errs, field.NotSupported(path, *worker.UpdateStrategy,
				[]gardencorev1beta1.MachineUpdateStrategy{gardencorev1beta1.AutoRollingUpdate}))
		}
	}
	return errs
}

// WorkerBefore is the worker pool of that name in the old shoot; empty if there was none.
func (r *Request) WorkerBefore(name string) gardencorev1beta1.Worker {
	if r.Old == nil {
		return gardencorev1beta1.Worker{}
	}
	workers := r.Old.Spec.Provider.Workers
	if i := slices.IndexFunc(workers, func(w gardencorev1beta1.Worker) bool { return w.Name == name }); i >= 0 {
		return workers[i]
	}
	return gardencorev1beta1.Worker{}
}
