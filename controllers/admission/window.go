package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// windowUsable refuses maintenance time windows that cannot be read, or in which no maintenance has the time it needs
// (SPEC 4.6). A window that stays as it was is let be.
func windowUsable(r *request, _ *garden) field.ErrorList {
	wanted := timeWindow(r.shoot)
	if wanted == nil || r.old != nil && equality.Semantic.DeepEqual(wanted, timeWindow(r.old)) {
		return nil
	}
	path := field.NewPath("spec", "maintenance", "timeWindow")
	var errs field.ErrorList
	for _, end := range []struct{ name, text string }{{"begin", wanted.Begin}, {"end", wanted.End}} {
		if _, err := window.Parse(end.text, end.text); err != nil {
			errs = append(errs, field.Invalid(path.Child(end.name), end.text, "must be a time of the form HHMMSS+ZZZZ, for example 220000+0100"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	w, err := window.Parse(wanted.Begin, wanted.End)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if d := w.Duration(); d < window.Minimum || d > window.Maximum {
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%s to %s", wanted.Begin, wanted.End),
			fmt.Sprintf("must be between %v and %v long, and is %v", window.Minimum, window.Maximum, d))}
	}
	return nil
}

func timeWindow(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.MaintenanceTimeWindow {
	if shoot == nil || shoot.Spec.Maintenance == nil {
		return nil
	}
	return shoot.Spec.Maintenance.TimeWindow
}
