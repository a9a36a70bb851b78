package measure

import (
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Unreached says of which shoots the downtime is not known, or not to its end: those that are there and awake, and that nobody
// has reached, or tried to reach once the story had come to its last part.
func Unreached(events []timeline.Event) (unseen []string) {
	last := oracle.LastSeen(events)
	settling, _, settled := timeline.First[timeline.Settling](events)
	for _, shoot := range shoots(events) {
		if oracle.AwayAtEnd(last[shoot]) {
			continue
		}
		reached, tried := false, !settled
		for e, p := range timeline.Of[timeline.Reached](events) {
			if e.Subject == shoot {
				reached = reached || p.Outcome == timeline.Acknowledged
				tried = tried || time.Duration(p.Sent) > settling.At
			}
		}
		switch {
		case !reached:
			unseen = append(unseen, "whether "+shoot+" could be reached")
		case !tried:
			unseen = append(unseen, "whether "+shoot+" could be reached in the end")
		}
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

// lastAsked is the write that was sent last after a moment, and whether any of those was acknowledged.
func lastAsked(events []timeline.Event, shoot string, after time.Duration) (asked timeline.Event, answers bool) {
	var sent timeline.Moment
	for e, w := range timeline.Of[timeline.Write](events) {
		if e.Subject != shoot || time.Duration(w.Sent) <= after {
			continue
		}
		answers = answers || w.Outcome == timeline.Acknowledged
		if w.Sent > sent {
			sent, asked = w.Sent, e
		}
	}
	return asked, answers
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
