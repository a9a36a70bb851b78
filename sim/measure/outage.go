package measure

import (
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Interval of a run.
type Interval struct{ From, To time.Duration }

// Length of the interval.
func (i Interval) Length() time.Duration { return i.To - i.From }

// Overlap is how long two intervals have in common.
func (i Interval) Overlap(other Interval) time.Duration {
	return max(min(i.To, other.To)-max(i.From, other.From), 0)
}

// Outages are the times at which a shoot's API could not be reached by its name: each from the last good answer before
// it to the first after it, or to the last attempt. Times at which the shoot slept, was about to, or was being deleted,
// are cut out. probed is false when nobody tried to reach it, or never did.
func Outages(events []timeline.Event, shoot string) (outages []Interval, probed bool) {
	unreachable, probed := Unreachable(events, shoot)
	absent := absences(events, shoot)
	for _, one := range unreachable {
		outages = append(outages, one.Without(absent)...)
	}
	return outages, probed
}

// Unreachable are the times of Outages, with those at which nobody may expect to reach the shoot.
func Unreachable(events []timeline.Event, shoot string) (all []Interval, probed bool) {
	var samples []timeline.Reached
	for e, p := range timeline.Of[timeline.Reached](events) {
		if e.Subject == shoot {
			samples = append(samples, p)
		}
	}
	slices.SortStableFunc(samples, func(a, b timeline.Reached) int { return int(a.Sent - b.Sent) })
	var open *Interval
	last := time.Duration(-1)
	for _, s := range samples {
		at := time.Duration(s.Answered)
		switch good := s.Outcome == timeline.Acknowledged; {
		case good && open != nil:
			open.To = max(at, open.From)
			all = append(all, *open)
			open, last = nil, at
		case good:
			last = max(last, at)
		case open == nil && last >= 0:
			open = &Interval{From: last, To: max(at, last)}
		case open != nil:
			open.To = max(open.To, at)
		}
	}
	if open != nil {
		all = append(all, *open)
	}
	return all, last >= 0
}

// absences are the times at which nobody may expect to reach the shoot.
func absences(events []timeline.Event, shoot string) []Interval {
	var all []Interval
	gone := false
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if e.Subject != shoot {
			continue
		}
		was := gone
		gone = oracle.AwayAtEnd(p)
		switch {
		case gone && !was:
			all = append(all, Interval{From: e.At, To: events[len(events)-1].At})
		case !gone && was:
			all[len(all)-1].To = e.At
		}
	}
	return all
}

// Without cuts the others out of the interval. They are in order and apart.
func (i Interval) Without(others []Interval) []Interval {
	var left []Interval
	for _, other := range others {
		if other.To <= i.From || other.From >= i.To {
			continue
		}
		if other.From > i.From {
			left = append(left, Interval{i.From, other.From})
		}
		i.From = other.To
	}
	if i.From < i.To {
		left = append(left, i)
	}
	return left
}
