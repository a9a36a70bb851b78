package shootrules

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/controllers/admission/review"
)

// specLocked refuses changes of anything but spec.seedName, when that is changed too or the control plane is being
// moved: source and destination must work on one specification.
func specLocked(r *Request, _ *garden) field.ErrorList {
	if r.Old == nil || r.Shoot == nil {
		return nil
	}
	why := ""
	switch {
	case r.moves():
		why = "must not be changed together with spec.seedName"
	case bound(r.Old) || inHandOver(r.Old):
		why = fmt.Sprintf("must not be changed while the control plane is being moved: spec.seedName is %q, "+
			"status.seedName is %q, %s",
			r.oldSeedName(), ptr.Deref(r.Old.Status.SeedName, ""), operationOf(r.Old))
	default:
		return nil
	}
	var errs field.ErrorList
	changed := differences(field.NewPath("spec"), withoutSeedName(r.oldSpec), withoutSeedName(r.spec))
	for i, path := range changed {
		if i == review.MaxNamed {
			errs[i-1].Detail += fmt.Sprintf("; and %d more fields", len(changed)-i)
			break
		}
		errs = append(errs, field.Forbidden(path, why))
	}
	return errs
}

func withoutSeedName(spec map[string]any) map[string]any {
	spec = maps.Clone(spec)
	delete(spec, "seedName")
	return spec
}
