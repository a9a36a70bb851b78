package shootrules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
)

func seedNamePath() *field.Path { return field.NewPath("spec", "seedName") }

// seedNameStays refuses to take a shoot off its seed without giving it another.
func seedNameStays(r *Request, _ *garden) field.ErrorList {
	if r.Shoot == nil || r.oldSeedName() == "" || r.seedName() != "" {
		return nil
	}
	return field.ErrorList{field.Required(seedNamePath(),
		"must not be unset: name another seed to move the control plane")}
}

// changeOfSeedNameFits asks whether this is the time to move the shoot; where to is destinationFits' matter.
func changeOfSeedNameFits(r *Request, _ *garden) field.ErrorList {
	if !r.binds() || r.Old == nil {
		return nil
	}
	if why := r.whyNotNow(); why != "" {
		return field.ErrorList{field.Forbidden(seedNamePath(), why)}
	}
	return nil
}

func (r *Request) whyNotNow() string {
	forced := r.moves() && r.forced()
	switch {
	case r.Old.DeletionTimestamp != nil && !forced:
		return "must not be changed while the shoot is being deleted"
	case !r.moves():
		return ""
	case !lifecycle.Created(r.Old):
		return "must not be changed before the shoot has been created successfully: " + operationOf(r.Old)
	case inHandOver(r.Old) && !(forced && givenUp(r.Old)):
		return "must not be changed while the control plane is being moved: " + operationOf(r.Old)
	}
	return ""
}

// givenUp reports whether a hand-over has got so far that a forced restore may send the shoot elsewhere
// (docs/ownership.md#spec-9-3): its migration was aborted or has failed, or its destination has not finished.
func givenUp(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	if last.Type == gardencorev1beta1.LastOperationTypeRestore {
		return true
	}
	switch last.State {
	case gardencorev1beta1.LastOperationStateAborted, gardencorev1beta1.LastOperationStateError,
		gardencorev1beta1.LastOperationStateFailed:
		return true
	}
	return false
}
