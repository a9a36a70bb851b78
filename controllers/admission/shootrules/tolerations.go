package shootrules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func tolerationsAllowed(r *Request, g *garden) field.ErrorList {
	if !r.changesTolerations() {
		return nil
	}
	var old []gardencorev1beta1.Toleration
	if r.Old != nil {
		old = r.Old.Spec.Tolerations
	}
	return g.tolerations.Judge(field.NewPath("spec", "tolerations"), r.Shoot.Spec.Tolerations, old)
}

func (r *Request) changesTolerations() bool {
	if r.Shoot == nil || len(r.Shoot.Spec.Tolerations) == 0 {
		return false
	}
	return r.Old == nil || len(differences(nil, r.oldSpec["tolerations"], r.spec["tolerations"])) > 0
}
