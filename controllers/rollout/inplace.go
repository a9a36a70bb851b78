package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// ValidateInPlace checks what may not be changed about pools whose nodes are updated in place
// (docs/specification/versions.md#spec-4-9): whether they are, and everything that only new nodes could have. As long
// as an update is going on, no further one may be begun, unless the shoot's operation annotation forces it. What
// versions may be gone to is not checked here.
func ValidateInPlace(shoot, old *gardencorev1beta1.Shoot) field.ErrorList {
	var errs field.ErrorList
	for i := range shoot.Spec.Provider.Workers {
		worker := &shoot.Spec.Provider.Workers[i]
		before := find(old, worker.Name)
		if before == nil {
			continue
		}
		path := field.NewPath("spec", "provider", "workers").Index(i)
		if worker.UpdatesInPlace() != before.UpdatesInPlace() {
			errs = append(errs, field.Forbidden(path.Child("updateStrategy"), fmt.Sprintf("cannot be changed from %s to %s",
				strategy(before), strategy(worker))))
			continue
		}
		if worker.UpdatesInPlace() {
			errs = append(errs, immutable(path, worker, before)...)
			errs = append(errs, notWhilePending(path, shoot, worker, old, before)...)
		}
	}
	if hasInPlace(old) && nodeLocalDNS(shoot) != nodeLocalDNS(old) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "systemComponents", "nodeLocalDNS", "enabled"),
			"cannot be changed as long as there are worker pools that are updated in place"))
	}
	return errs
}

func hasInPlace(shoot *gardencorev1beta1.Shoot) bool {
	return slices.ContainsFunc(shoot.Spec.Provider.Workers, func(w gardencorev1beta1.Worker) bool {
		return w.UpdatesInPlace()
	})
}

// immutable is what only new nodes could have.
func immutable(path *field.Path, worker, before *gardencorev1beta1.Worker) field.ErrorList {
	var errs field.ErrorList
	name, version := image(worker)
	nameBefore, versionBefore := image(before)
	for _, f := range []struct {
		path    *field.Path
		changed bool
	}{
		{path.Child("machine", "type"), worker.Machine.Type != before.Machine.Type},
		{path.Child("machine", "image", "name"), name != nameBefore},
		{path.Child("volume"), !equality.Semantic.DeepEqual(worker.Volume, before.Volume)},
		{path.Child("dataVolumes"), !equality.Semantic.DeepEqual(worker.DataVolumes, before.DataVolumes)},
		{path.Child("cri"), !equality.Semantic.DeepEqual(worker.CRI, before.CRI)},
	} {
		if f.changed {
			errs = append(errs, field.Forbidden(f.path, "cannot be changed for a worker pool that is updated in place"))
		}
	}
	if name == nameBefore && lower(version, versionBefore) {
		errs = append(errs, field.Forbidden(path.Child("machine", "image", "version"),
			fmt.Sprintf("machine image downgrade is not supported for a worker pool that is updated in place, %s is lower "+
				"than %s", version, versionBefore)))
	}
	return errs
}

func lower(version, than string) bool {
	a, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(than)
	return err == nil && a.LessThan(b)
}

// notWhilePending lets nothing change that would need another update of the nodes.
func notWhilePending(path *field.Path, shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker,
	old *gardencorev1beta1.Shoot, before *gardencorev1beta1.Worker) field.ErrorList {
	if !pending(old, worker.Name) || forced(shoot) {
		return nil
	}
	verdict, err := comparePool(old, before, shoot, worker)
	if err != nil {
		return nil // a version that cannot be read is refused for that
	}
	var errs field.ErrorList
	for _, trigger := range verdict.Triggers {
		errs = append(errs, field.Forbidden(path,
			fmt.Sprintf("%s cannot be changed from %s to %s as long as the in-place update of the pool is going on; annotate "+
				"the shoot with %s=%s to do so nevertheless",
				trigger.Field, orNothing(trigger.From), orNothing(trigger.To), constants.GardenerOperation,
				constants.ShootOperationForceInPlaceUpdate)))
	}
	return errs
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

func pending(shoot *gardencorev1beta1.Shoot, pool string) bool {
	if shoot.Status.InPlaceUpdates == nil || shoot.Status.InPlaceUpdates.PendingWorkerUpdates == nil {
		return false
	}
	updates := shoot.Status.InPlaceUpdates.PendingWorkerUpdates
	return slices.Contains(updates.AutoInPlaceUpdate, pool) || slices.Contains(updates.ManualInPlaceUpdate, pool)
}

func forced(shoot *gardencorev1beta1.Shoot) bool {
	operations := strings.Split(shoot.Annotations[constants.GardenerOperation], constants.OperationsSeparator)
	return slices.ContainsFunc(operations, func(o string) bool {
		return strings.TrimSpace(o) == constants.ShootOperationForceInPlaceUpdate
	})
}
