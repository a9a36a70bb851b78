package measure

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Unreached says of which shoots it is not known whether the downtime is within a limit: those of which so much was not
// observed that they may have been away for longer.
func Unreached(events []timeline.Event, limit time.Duration) []string {
	return unreached(events, shoots(events), limit)
}

// UnreachedBystanders is Unreached for Bystanders. A shoot that nobody has seen in the garden may be one.
func UnreachedBystanders(events []timeline.Event, limit time.Duration) []string {
	bystanders := Bystanders(events)
	return unreached(events, slices.DeleteFunc(shoots(events), func(shoot string) bool {
		return isFollowed(events, shoot) && !slices.Contains(bystanders, shoot)
	}), limit)
}

func unreached(events []timeline.Event, shoots []string, limit time.Duration) (unseen []string) {
	for _, shoot := range shoots {
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

// Unrecovered is a shoot that a fault may have hit, and of which it was not seen that it has recovered, nor that it did
// not have to.
type Unrecovered struct {
	Shoot string
	// Tried is how long after the fault it was last asked, and gave no good answer; 0 when nobody asked in the end, or
	// when it was not seen who answered.
	Tried time.Duration
	// Wrote says that it was asked by the writes of a load; else somebody tried to reach its API.
	Wrote bool
	// Events are the fault and that last attempt, by their numbers.
	Events []int
}

// NotRecovered are the shoots to which rto would apply, had all been seen, or that have not recovered. Whoever is there
// and awake in the end has to answer then: the writes of its load, or, without one, who tries to reach its API. One
// that answers has had nothing to recover from where it is on the seed of before the faults, or where it was handed
// over.
func NotRecovered(events []timeline.Event) (all []Unrecovered) {
	faults := costlyFaults(events)
	settling, _, settled := timeline.First[timeline.Settling](events)
	if len(faults) == 0 || !settled {
		return nil
	}
	last, loaded := state.Of(events).Shoots, oracle.Loaded(events)
	for _, shoot := range expected(events, loaded) {
		if oracle.AwayAtEnd(last[shoot]) {
			continue
		}
		if one := notRecovered(events, shoot, faults, settling.At, slices.Contains(loaded, shoot)); one != nil {
			all = append(all, *one)
		}
	}
	return all
}

// expected are the shoots that were ready once, or have a load, and that nobody has asked to delete since.
func expected(events []timeline.Event, loaded []string) []string {
	all := slices.Clone(loaded)
	for _, shoot := range shoots(events) {
		there := false
		for _, e := range events {
			if e.Subject != shoot {
				continue
			}
			switch p := e.Payload.(type) {
			case timeline.ShootReady:
				there = true
			case timeline.StepStarted:
				there = there && (p.Verb != "delete" || p.Refused)
			}
		}
		if there {
			all = append(all, shoot)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func notRecovered(events []timeline.Event, shoot string, faults []timeline.Event, settling time.Duration,
	loaded bool) *Unrecovered {
	one := &Unrecovered{Shoot: shoot}
	if !isFollowed(events, shoot) {
		return one
	}
	fault := slices.IndexFunc(faults, func(f timeline.Event) bool { return f.At >= readySince(events, shoot) })
	if fault < 0 {
		return nil // it was not there yet
	}
	owners, seen := ownersOf(events, shoot), comebacksOf(events, shoot)
	answers := attemptsAs(events, shoot)
	if loaded {
		answers = writesAs(events, shoot, owners.epochs)
	}
	asked, answered := lastAsked(answers, settling)
	switch {
	case answered && !seen.unknown && !seen.open && isWhereExpected(events, shoot, faults[fault].At, owners.newest()):
		return nil
	case !answered && asked != nil:
		one.waitedFor(events, shoot, faults, answers, *asked)
		one.Wrote = loaded
	}
	return one
}

// waitedFor notes since which fault a shoot has given no good answer.
func (u *Unrecovered) waitedFor(events []timeline.Event, shoot string, faults []timeline.Event, answers []answer,
	asked answer) {
	var good, sent time.Duration
	for _, a := range answers {
		if a.good {
			good, sent = max(good, a.at), max(sent, a.sent)
		}
	}
	silent := asked.at
	for _, a := range answers {
		if a.sent >= sent && a.at > good {
			silent = min(silent, a.at)
		}
	}
	cause, any := causeOf(faults, good, silent)
	if !any {
		cause, any = causeOf(faults, good, asked.sent)
	}
	if any {
		away, _ := absences(events, shoot)
		u.Tried, u.Events = total(Interval{cause.At, asked.sent}.Without(away)), []int{cause.Seq, asked.event.Seq}
	}
}

// readySince is when a shoot was ready, the last time that it was created.
func readySince(events []timeline.Event, shoot string) (at time.Duration) {
	for e := range timeline.About[timeline.ShootReady](events, shoot) {
		at = e.At
	}
	return at
}

// isWhereExpected says that a shoot is in the end where its newest owner has it, if that came after the fault, and else
// where it was then. A shoot of which nothing was seen until then may have been anywhere.
func isWhereExpected(events []timeline.Event, shoot string, fault time.Duration, newest owner) bool {
	var then, last timeline.ShootSeen
	for e, p := range timeline.About[timeline.ShootSeen](events, shoot) {
		if e.At <= max(fault, newest.served) {
			then = p
		}
		last = p
	}
	came := newest.served > fault && then.SpecSeed != "" // its status may still say where it came from
	return last.StatusSeed != "" && (last.StatusSeed == then.StatusSeed || came && last.StatusSeed == then.SpecSeed)
}

// lastAsked is the last attempt after a moment, and whether any of those had a good answer.
func lastAsked(answers []answer, after time.Duration) (asked *answer, answered bool) {
	for _, a := range answers {
		if a.sent > after {
			asked, answered = &a, answered || a.good
		}
	}
	return asked, answered
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
