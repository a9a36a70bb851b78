package shootrules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// fieldsValid refuses values that no controller can act on, and changes that no controller can apply.
func fieldsValid(r *Request, g *garden) field.ErrorList {
	if r.Shoot == nil {
		return nil
	}
	w := &review.Object[*gardencorev1beta1.Shoot]{Object: r.Shoot, Old: r.Old, Wire: r.wire, OldWire: r.oldWire,
		Update: r.Old != nil}
	around := validation.Surroundings{Project: g.project, Profile: g.profile}
	if w.Update {
		around.Project = "" // the name cannot change
	}
	return w.Judge(validation.ShootChange,
		func(shoot *gardencorev1beta1.Shoot) field.ErrorList { return validation.Shoot(shoot, around) })
}
