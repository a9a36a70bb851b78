package measure

import (
	"cmp"
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

// Within are the parts of others that lie in the interval.
func (i Interval) Within(others []Interval) (parts []Interval) {
	for _, other := range others {
		if i.Overlap(other) > 0 {
			parts = append(parts, Interval{max(i.From, other.From), min(i.To, other.To)})
		}
	}
	return parts
}

// joined are intervals in order and apart.
func joined(all []Interval) (apart []Interval) {
	slices.SortFunc(all, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	for _, one := range all {
		if n := len(apart); n > 0 && one.From <= apart[n-1].To {
			apart[n-1].To = max(apart[n-1].To, one.To)
			continue
		}
		apart = append(apart, one)
	}
	return apart
}

// total length of intervals.
func total(all []Interval) (sum time.Duration) {
	for _, one := range all {
		sum += one.Length()
	}
	return sum
}

// blindAfter is how long nobody may have tried to reach a shoot before it counts as unobserved whether it could be
// reached. It is twice what one attempt may take, and some twenty times the pace of attempts.
const blindAfter = 2 * time.Second

// Availability is what attempts to reach one shoot's API by its name have shown, from the moment at which the shoot was
// known to be ready until everything had settled, or it was deleted.
type Availability struct {
	// Due are the times at which the API has to be reachable.
	Due []Interval
	// Away are the times at which nobody may expect to reach it: it was hibernated or about to be, or being deleted.
	Away []Interval
	// Outages are the times at which the API was due and could not be reached: each from the last good answer before it
	// to the first after it, or to the last attempt. That the shoot is ready counts as a good answer. An attempt that
	// fails although it was sent before the last good answer came begins an outage when it was sent.
	Outages []Interval
	// Unobserved are the times at which the API was due, and no attempt shows whether it could be reached, and those at
	// which it is not known whether it was due: the shoot was woken, and nobody has seen when it was awake.
	Unobserved []Interval
	// Attempted says that somebody tried.
	Attempted bool
}

// Downtime is the length of all outages.
func (a Availability) Downtime() time.Duration { return total(a.Outages) }

// AvailabilityOf one shoot. One that was never ready has none.
func AvailabilityOf(events []timeline.Event, shoot string) Availability {
	attempts := attemptsOf(events, shoot)
	absent, doubtful := absences(events, shoot)
	uncounted := joined(slices.Concat(absent, doubtful))
	seen := Availability{Attempted: len(attempts) > 0}
	for _, lived := range livedTimes(events, shoot) {
		w := watcher{last: lived.From, seen: lived.From}
		for _, a := range attempts {
			if sent := time.Duration(a.Sent); sent >= lived.From && sent < lived.To {
				w.take(a)
			}
		}
		w.end(lived.To)
		due := lived.Without(absent)
		seen.Due = append(seen.Due, due...)
		seen.Away = append(seen.Away, lived.Without(due)...)
		for _, one := range w.outages {
			seen.Outages = append(seen.Outages, one.Without(uncounted)...)
		}
		for _, one := range joined(slices.Concat(w.blind, lived.Within(doubtful))) {
			seen.Unobserved = append(seen.Unobserved, one.Without(absent)...)
		}
	}
	return seen
}

// watcher goes through the attempts of one life of a shoot, in the order in which they were sent.
type watcher struct {
	last, seen     time.Duration // the last good answer, and the last answer of any kind
	open           *Interval     // the outage that goes on
	outages, blind []Interval
}

func (w *watcher) take(a timeline.Reached) {
	sent, answered := time.Duration(a.Sent), time.Duration(a.Answered)
	unobserved := w.gap(sent)
	switch good := a.Outcome == timeline.Acknowledged; {
	case good && w.open != nil:
		w.open.To = max(answered, w.open.From)
		w.close()
		w.last = max(w.last, answered)
	case good:
		w.last = max(w.last, answered)
	case w.open == nil && unobserved: // when it began is not known
		w.open = &Interval{From: sent, To: max(answered, sent)}
	case w.open == nil:
		from := min(w.last, sent)
		w.open = &Interval{From: from, To: max(answered, from)}
	default:
		w.open.To = max(w.open.To, answered)
	}
	w.seen = max(w.seen, answered)
}

// gap notes that nobody tried for long before a moment, if that is so. An outage that goes on before and after it may
// have had an end in between.
func (w *watcher) gap(until time.Duration) bool {
	if until-w.seen <= blindAfter {
		return false
	}
	if w.open != nil {
		w.close()
	}
	w.blind = append(w.blind, Interval{From: w.seen, To: until})
	return true
}

// close the outage. What of it lies in the one before it counts once.
func (w *watcher) close() {
	if n := len(w.outages); n > 0 {
		w.open.From = max(w.open.From, w.outages[n-1].To)
	}
	if w.open.To > w.open.From {
		w.outages = append(w.outages, *w.open)
	}
	w.open = nil
}

func (w *watcher) end(at time.Duration) {
	w.gap(at)
	if w.open != nil {
		w.close()
	}
}

func attemptsOf(events []timeline.Event, shoot string) (attempts []timeline.Reached) {
	for _, p := range timeline.About[timeline.Reached](events, shoot) {
		attempts = append(attempts, p)
	}
	slices.SortStableFunc(attempts, func(a, b timeline.Reached) int { return int(a.Sent - b.Sent) })
	return attempts
}

// livedTimes are those from when a shoot was ready until everything had settled, or its deletion was asked for. The
// record's end is the end of everything.
func livedTimes(events []timeline.Event, shoot string) (lived []Interval) {
	var open *Interval
	end := func(at time.Duration) {
		if open != nil && at > open.From {
			lived = append(lived, Interval{From: open.From, To: at})
		}
		open = nil
	}
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.ShootReady:
			if e.Subject == shoot && open == nil {
				open = &Interval{From: e.At}
			}
		case timeline.ShootSeen:
			if e.Subject == shoot && p.Absent {
				end(e.At)
			}
		case timeline.StepStarted:
			if e.Subject == shoot && p.Verb == "delete" && !p.Refused {
				end(e.At)
			}
		case timeline.Settled:
			end(e.At)
		}
	}
	end(lastMoment(events))
	return lived
}

func lastMoment(events []timeline.Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].At
}

// absences are the times at which nobody may expect to reach the shoot, and those at which it is not known whether
// anybody may.
func absences(events []timeline.Event, shoot string) (away, doubtful []Interval) {
	a := absence{shoot: shoot, waking: -1}
	for _, e := range events {
		if e.Subject == shoot {
			a.take(e)
		}
	}
	if a.gone {
		a.end(lastMoment(events))
	}
	return a.away, a.doubtful
}

// absence follows whether a shoot is hibernated or deleted, or about to be.
type absence struct {
	shoot          string
	gone, asleep   bool
	since, slept   time.Duration // when it was gone, and asleep
	awoken         time.Duration // since when it may be awake though nobody has seen that; 0 while there is no sign of it
	waking         int           // the step that wakes it, by its index; -1 when there is none
	away, doubtful []Interval
}

func (a *absence) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.ShootSeen:
		a.see(e.At, p)
	case timeline.StepStarted:
		a.waking = -1
		if p.Verb == "wake" && !p.Refused {
			a.waking = p.Index
		}
		if p.Verb == "hibernate" && a.gone && a.awoken > 0 { // it was awake in between
			a.end(e.At)
			a.since = e.At
		}
	case timeline.StepEnded:
		if a.gone && p.Index == a.waking && p.Outcome == timeline.StepDone && a.awoken == 0 {
			a.awoken = e.At
		}
	case timeline.Reached:
		if sent := time.Duration(p.Sent); a.asleep && sent > a.slept && p.Outcome == timeline.Acknowledged && a.awoken == 0 {
			a.awoken = sent
		}
	}
}

// see a state in the garden. One that was seen to be awake in the end was waking until then.
func (a *absence) see(at time.Duration, p timeline.ShootSeen) {
	was := a.gone
	if p.Hibernated && !a.asleep {
		a.slept = at
	}
	a.gone, a.asleep = oracle.AwayAtEnd(p), p.Hibernated
	switch {
	case a.gone && !was:
		a.since, a.awoken = at, 0
	case !a.gone && was:
		a.away = append(a.away, Interval{a.since, at})
		a.awoken = 0
	case a.gone && p.WantsToSleep && p.Hibernated: // it sleeps again, or still
		a.awoken = 0
	}
}

// end of what was gone, of which it was not seen that it is back.
func (a *absence) end(at time.Duration) {
	until := at
	if a.awoken > 0 {
		until = min(max(a.awoken, a.since), at)
		a.doubtful = append(a.doubtful, Interval{until, at})
	}
	if until > a.since {
		a.away = append(a.away, Interval{a.since, until})
	}
	a.awoken = 0
}
