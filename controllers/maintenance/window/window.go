// Package window does the arithmetic of maintenance time windows (docs/specification/versions.md#spec-4-6,
// docs/specification/versions.md#spec-4-11): windows of the day that may cross midnight, and moments in them. It reads
// no clock, and its chance is a hash: callers bring the time and the occasion.
package window

import (
	"fmt"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const (
	// Layout is how begin and end are written: HHMMSS+ZZZZ.
	Layout = "150405-0700"
	// Margin is what the effective window ends earlier, so that a maintenance that has begun can still be carried out.
	Margin = 15 * time.Minute
	// Minimum and Maximum bound the duration of a window that admission accepts.
	Minimum = 30 * time.Minute
	Maximum = 6 * time.Hour

	day = 24 * time.Hour
)

// Window is a time of every day, to the second. The end belongs to it. Windows whose end is not after their begin
// cross midnight.
type Window struct {
	// begin and end are times since midnight UTC.
	begin, end time.Duration
}

// always contains every moment, as windows count in whole seconds.
var always = Window{begin: 0, end: day - time.Second}

// Parse reads a window. Zones may differ between begin and end.
func Parse(begin, end string) (Window, error) {
	b, err := sinceMidnight(begin)
	if err != nil {
		return Window{}, fmt.Errorf("read the begin of the time window: %w", err)
	}
	e, err := sinceMidnight(end)
	if err != nil {
		return Window{}, fmt.Errorf("read the end of the time window: %w", err)
	}
	return Window{begin: b, end: e}, nil
}

func sinceMidnight(text string) (time.Duration, error) {
	t, err := time.Parse(Layout, text)
	if err != nil {
		// What the parser says is about its own layout.
		return 0, fmt.Errorf("%q is no time of the form HHMMSS+ZZZZ, for example 220000+0100", text)
	}
	return timeOfDay(t), nil
}

func timeOfDay(t time.Time) time.Duration {
	t = t.UTC()
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second
}

// Of is the window of a shoot as it is written; false if it has none that can be read. Then every moment is in it.
func Of(shoot *gardencorev1beta1.Shoot) (Window, bool) {
	if shoot.Spec.Maintenance == nil || shoot.Spec.Maintenance.TimeWindow == nil {
		return always, false
	}
	window, err := Parse(shoot.Spec.Maintenance.TimeWindow.Begin, shoot.Spec.Maintenance.TimeWindow.End)
	if err != nil {
		return always, false
	}
	return window, true
}

// EffectiveOf is the window in which a shoot's maintenance may begin.
func EffectiveOf(shoot *gardencorev1beta1.Shoot) Window {
	window, written := Of(shoot)
	if !written {
		return window
	}
	return window.Effective()
}

// Effective is the window less Margin at its end. One of Margin's length keeps its begin's second.
func (w Window) Effective() Window {
	return Window{begin: w.begin, end: (w.end - Margin + day) % day}
}

// Always is whether every moment is in the window because none was given.
func (w Window) Always() bool { return w == always }

// Contains is whether a moment, to the second, is in the window.
func (w Window) Contains(t time.Time) bool {
	now := timeOfDay(t)
	if w.end < w.begin {
		return now >= w.begin || now <= w.end
	}
	return now >= w.begin && now <= w.end
}

// Duration is the time from begin to end: 24 hours if they are the same.
func (w Window) Duration() time.Duration {
	if w.end <= w.begin {
		return w.end - w.begin + day
	}
	return w.end - w.begin
}

// BeginOn is the begin on the day of a moment, in UTC.
func (w Window) BeginOn(t time.Time) time.Time { return midnight(t).Add(w.begin) }

// EndOn is the end of the window that begins on the day of a moment, in UTC.
func (w Window) EndOn(t time.Time) time.Time { return w.BeginOn(t).Add(w.Duration()) }

func midnight(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// Next is the begin of the window that follows now: that of today as long as its end has not passed, unless now is in
// a window that has begun already.
func (w Window) Next(now time.Time) time.Time {
	begin := w.BeginOn(now)
	if begin.Before(now) && (w.Contains(now) || now.After(w.EndOn(now))) {
		return begin.Add(day)
	}
	return begin
}

// Moment is a moment of the window that follows now, at a fraction of its duration in [0, 1).
func (w Window) Moment(now time.Time, fraction float64) time.Time {
	return w.Next(now).Add(share(fraction, w.Duration()))
}

// MomentFromNow is the same in what is left of the window that now is in; that of Moment if now is in none.
func (w Window) MomentFromNow(now time.Time, fraction float64) time.Time {
	if !w.Contains(now) {
		return w.Moment(now, fraction)
	}
	return now.UTC().Add(share(fraction, w.left(now)))
}

// left is the time until the end of the window that now is in. One that ends and begins anew within the same hour
// counts as the next one in that hour, as in the field's implementation.
func (w Window) left(now time.Time) time.Duration {
	left := w.EndOn(now).Sub(now)
	if now.UTC().Hour() < w.BeginOn(now).Hour() {
		left -= day // it began yesterday
	}
	return max(left, 0)
}

// share is a fraction of a duration, never the whole.
func share(fraction float64, of time.Duration) time.Duration {
	return time.Duration(fraction * float64(of))
}

// Texts are begin and end in UTC, as they are written in a Shoot.
func (w Window) Texts() (begin, end string) {
	return midnight(time.Time{}).Add(w.begin).Format(Layout), midnight(time.Time{}).Add(w.end).Format(Layout)
}

// String is the window for people.
func (w Window) String() string {
	if w.Always() {
		return "at any time"
	}
	return fmt.Sprintf("%s–%s UTC", clock(w.begin), clock(w.end))
}

func clock(t time.Duration) string {
	text := midnight(time.Time{}).Add(t).Format("15:04:05")
	if text[len(text)-3:] == ":00" {
		return text[:len(text)-3]
	}
	return text
}

// ReconciledIn is whether a reconciliation ended in the present or latest occurrence of the window: at a time of day
// that the window contains, and no longer ago than the longest window.
func (w Window) ReconciledIn(last, now time.Time) bool {
	return w.Contains(last) && now.Sub(last) <= Maximum
}
