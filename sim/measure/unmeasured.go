package measure

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Unreached says of which shoots it is not known whether the downtime is within a limit: those of which so much was not
// observed that they may have been away for longer.
func Unreached(events []timeline.Event, limit time.Duration) (unseen []string) {
	for _, shoot := range shoots(events) {
		if !isFollowed(events, shoot) {
			unseen = append(unseen, "the Shoot "+shoot+" in the garden, which says when it is due")
			continue
		}
		seen := AvailabilityOf(events, shoot)
		blind := total(seen.Unobserved)
		if blind == 0 || seen.Downtime()+blind <= limit {
			continue
		}
		longest := slices.MaxFunc(seen.Unobserved, func(a, b Interval) int { return cmp.Compare(a.Length(), b.Length()) })
		unseen = append(unseen, fmt.Sprintf("whether %s could be reached for %s of the run (the longest part from %s to %s)",
			shoot, blind.Round(time.Millisecond), longest.From.Round(time.Millisecond), longest.To.Round(time.Millisecond)))
	}
	return unseen
}

// Unrecovered is a shoot of which no later owner was seen to acknowledge a write after the first fault, though it was due.
type Unrecovered struct {
	Shoot string
	// Tried is how long after the fault it was last asked for a write, and acknowledged none; 0 when nobody asked in the end, or
	// when it was not seen who acknowledged.
	Tried time.Duration
	// Events are the fault and that last write, by their numbers.
	Events []int
}

// NotRecovered are the shoots to which rto would apply, had it been seen: they are there and awake, they are written to until the
// end, and either acknowledge nothing then, or have been bound to another seed. Who acknowledges in the end where it was
// before was not hit by the fault, or its first owner is back; who does where it was handed over had nothing to recover from.
func NotRecovered(events []timeline.Event) (all []Unrecovered) {
	fault, _, any := timeline.First[timeline.FaultInjected](events)
	settling, _, settled := timeline.First[timeline.Settling](events)
	if !any || !settled {
		return nil
	}
	last := oracle.LastSeen(events)
	for _, shoot := range oracle.Loaded(events) {
		if _, recovered := rto(events, shoot); recovered || oracle.AwayAtEnd(last[shoot]) {
			continue
		}
		hit := seedAt(events, shoot, fault.At)
		if !isFollowed(events, shoot) {
			all = append(all, Unrecovered{Shoot: shoot})
			continue
		}
		if hit == "" {
			continue // it was not there yet
		}
		asked, answers := lastAsked(events, shoot, settling.At)
		one := Unrecovered{Shoot: shoot}
		switch {
		case answers && (last[shoot].StatusSeed == hit || wasHandedOver(events, shoot, fault.At)):
			continue
		case !answers && asked.Seq != 0:
			one.Tried = time.Duration(asked.Payload.(timeline.Write).Sent) - fault.At
			one.Events = []int{fault.Seq, asked.Seq}
		}
		all = append(all, one)
	}
	return all
}

// wasHandedOver says whether the last owner of a shoot had it from the one before, and so on back to that of the fault.
func wasHandedOver(events []timeline.Event, shoot string, fault time.Duration) bool {
	owners := ownersOf(events, shoot)
	newest := owners.newest()
	return newest.handed && newest == owners.planned(fault)
}

// lastAsked is the write that was sent last after a moment, and whether any of those was acknowledged. A write that an
// API server has refused because of what it says was answered, and tells nothing of a recovery that is late.
func lastAsked(events []timeline.Event, shoot string, after time.Duration) (asked timeline.Event, answers bool) {
	var sent timeline.Moment
	for e, w := range timeline.Of[timeline.Write](events) {
		if e.Subject != shoot || time.Duration(w.Sent) <= after {
			continue
		}
		answers = answers || w.Outcome == timeline.Acknowledged
		if w.Sent > sent && !refusedForItsContent(w) {
			sent, asked = w.Sent, e
		}
	}
	return asked, answers
}

// refusedForItsContent says that an API server which works has refused a write of the load: it knows its user, and
// finds no fault with itself.
func refusedForItsContent(w timeline.Write) bool {
	switch w.Status {
	case http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadRequest:
		return w.Outcome == timeline.Failed
	}
	return false
}

// seedAt is on which seed a shoot was at a moment.
func seedAt(events []timeline.Event, shoot string, at time.Duration) (seed string) {
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if e.Subject == shoot && e.At <= at {
			seed = p.StatusSeed
		}
	}
	return seed
}
