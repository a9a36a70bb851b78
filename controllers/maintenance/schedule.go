package maintenance

import (
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// appointment is when the shoot's next maintenance is, not later than now if it is due. Each occurrence of the window
// has one (docs/specification/versions.md#spec-4-6).
func appointment(shoot *gardencorev1beta1.Shoot, now time.Time) time.Time {
	w := window.EffectiveOf(shoot)
	if in, yes := w.Current(now); yes && shoot.Annotations[constants.MaintainedWindow] != in.Key() {
		return in.Moment(shoot)
	}
	return w.Following(now).Moment(shoot)
}

// mark notes on the shoot that it is maintained in the occurrence of its window that now is in. It is written together
// with what the maintenance changes, so that there is never the one without the other.
func mark(shoot *gardencorev1beta1.Shoot, now time.Time) {
	if in, yes := window.EffectiveOf(shoot).Current(now); yes {
		annotate(shoot, constants.MaintainedWindow, in.Key())
	}
}
