package window

import (
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Occurrence is one time at which a window is open, from its first to its last second.
type Occurrence struct{ Begin, End time.Time }

// Current is the occurrence that a moment is in; false if it is in none.
func (w Window) Current(now time.Time) (Occurrence, bool) {
	if !w.Contains(now) {
		return Occurrence{}, false
	}
	begin := w.BeginOn(now)
	if begin.After(now) {
		begin = w.BeginOn(now.AddDate(0, 0, -1))
	}
	return Occurrence{Begin: begin, End: begin.Add(w.Duration())}, true
}

// Following is the occurrence after the one that a moment is in, or after the moment.
func (w Window) Following(now time.Time) Occurrence {
	begin := w.Next(now)
	if in, yes := w.Current(now); yes && !begin.After(in.Begin) {
		begin = begin.AddDate(0, 0, 1)
	}
	return Occurrence{Begin: begin, End: begin.Add(w.Duration())}
}

// Key names the occurrence, in the annotation of a shoot and for its chance.
func (o Occurrence) Key() string { return o.Begin.UTC().Format(time.RFC3339) }

// Moment is when it is a shoot's turn in the occurrence. Shoots are spread over it by chance; but it is the same chance
// for everyone who asks, so that a controller that starts again neither forgets a shoot nor takes it twice.
func (o Occurrence) Moment(shoot *gardencorev1beta1.Shoot) time.Time {
	from := o.Begin
	if created := shoot.CreationTimestamp.UTC(); created.After(from) && created.Before(o.End) {
		from = created
	}
	return from.Add(share(Chance(shoot, o.Key()), o.End.Sub(from)))
}
