package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// load is a stretch of time in which a shoot was to be written to, and what came of it.
type load struct {
	shoot               string
	perSecond           int
	from, to            time.Duration
	dismissed           bool // it ends because its shoot is to be deleted
	tried, acknowledged int
}

func (l load) lasted() time.Duration { return l.to - l.from }

// asked is how many writes the load was to try.
func (l load) asked() int { return int(l.lasted().Seconds() * float64(l.perSecond)) }

// loadsOf are the loads of a run, in the order of their steps. A load goes on until everything has settled, or
// its shoot is to be deleted.
func loadsOf(events []timeline.Event) []load {
	var loads []load
	for i, e := range events {
		p, is := e.Payload.(timeline.StepStarted)
		if !is || p.WritesPerSecond == 0 {
			continue
		}
		l := load{shoot: e.Subject, perSecond: p.WritesPerSecond, from: e.At}
		l.to, l.dismissed = endOfLoad(events[i:], e.Subject)
		for written, w := range timeline.Of[timeline.Write](events[i:]) {
			if sent := time.Duration(w.Sent); written.Subject != l.shoot || sent < l.from || sent > l.to {
				continue
			}
			l.tried++
			if w.Outcome == timeline.Acknowledged {
				l.acknowledged++
			}
		}
		loads = append(loads, l)
	}
	return loads
}

// Loaded are the shoots that are written to until the scenario's end, and exist then, by name.
func Loaded(events []timeline.Event) []string {
	last := state.Of(events).Shoots
	var all []string
	for _, l := range loadsOf(events) {
		if gone := last[l.shoot].Absent || last[l.shoot].Deleting; !gone && !l.dismissed {
			all = append(all, l.shoot)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func endOfLoad(events []timeline.Event, shoot string) (at time.Duration, dismissed bool) {
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.StepStarted:
			if p.Verb == "delete" && !p.Refused && e.Subject == shoot {
				return e.At, true
			}
		case timeline.Settled:
			return e.At, false
		}
	}
	return events[len(events)-1].At, false
}

// UnservedLoads says what is missing of the loads of a run: each has to have an acknowledged write, and one after the
// last fault that began beside it, unless its shoot is deleted or hibernated by then. A load that writes to nowhere
// shows nothing, whatever else was seen.
func UnservedLoads(events []timeline.Event) (lacks []string) {
	last := state.Of(events).Shoots
	for _, l := range loadsOf(events) {
		if l.asked() == 0 {
			continue // it ended before its first write was due
		}
		if l.acknowledged == 0 {
			lacks = append(lacks, "any acknowledged write of the load of "+l.shoot)
			continue
		}
		fault, any := lastFaultIn(events, l)
		if !any || l.dismissed || AwayAtEnd(last[l.shoot]) {
			continue
		}
		served := func(w write) bool {
			return w.Outcome == timeline.Acknowledged && time.Duration(w.Sent) > fault.At
		}
		if !slices.ContainsFunc(writesOf(events, l.shoot), served) {
			lacks = append(lacks, fmt.Sprintf("any acknowledged write of the load of %s after the fault %q began", l.shoot,
				fault.Subject))
		}
	}
	return lacks
}

func lastFaultIn(events []timeline.Event, l load) (fault timeline.Event, any bool) {
	for e := range timeline.Of[timeline.FaultInjected](events) {
		if e.At >= l.from && e.At <= l.to {
			fault, any = e, true
		}
	}
	return fault, any
}
