package maintenance

import (
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

// occurrence is one time at which a shoot's effective window is open, from its first to its last second.
type occurrence struct{ begin, end time.Time }

// current is the occurrence that a moment is in; false if it is in none.
func current(w window.Window, now time.Time) (occurrence, bool) {
	if !w.Contains(now) {
		return occurrence{}, false
	}
	begin := w.BeginOn(now)
	if begin.After(now) {
		begin = w.BeginOn(now.AddDate(0, 0, -1))
	}
	return occurrence{begin: begin, end: begin.Add(w.Duration())}, true
}

// following is the occurrence after the one that a moment is in, or after the moment.
func following(w window.Window, now time.Time) occurrence {
	begin := w.Next(now)
	if in, yes := current(w, now); yes && !begin.After(in.begin) {
		begin = begin.AddDate(0, 0, 1)
	}
	return occurrence{begin: begin, end: begin.Add(w.Duration())}
}

// key names an occurrence in the annotation of a shoot.
func (o occurrence) key() string { return o.begin.UTC().Format(time.RFC3339) }

// moment is when the shoot is maintained in the occurrence. Shoots are spread over it by chance; but it is the same
// chance for everyone who asks, so that a controller that starts again neither forgets a shoot nor takes it twice.
func (o occurrence) moment(shoot *gardencorev1beta1.Shoot) time.Time {
	from := o.begin
	if created := shoot.CreationTimestamp.UTC(); created.After(from) && created.Before(o.end) {
		from = created
	}
	return from.Add(time.Duration(window.Chance(shoot, o.key()) * float64(o.end.Sub(from))))
}

// appointment is when the shoot's next maintenance is, not later than now if it is due. Each occurrence of the window
// has one (SPEC 4.6).
func appointment(shoot *gardencorev1beta1.Shoot, now time.Time) time.Time {
	w := window.EffectiveOf(shoot)
	if in, yes := current(w, now); yes && shoot.Annotations[constants.MaintainedWindow] != in.key() {
		return in.moment(shoot)
	}
	return following(w, now).moment(shoot)
}

// mark notes on the shoot that it is maintained in the occurrence of its window that now is in. It is written together
// with what the maintenance changes, so that there is never the one without the other.
func mark(shoot *gardencorev1beta1.Shoot, now time.Time) {
	if in, yes := current(window.EffectiveOf(shoot), now); yes {
		annotate(shoot, constants.MaintainedWindow, in.key())
	}
}
