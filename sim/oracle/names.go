package oracle

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// extensionsOn are the identities of a seed's extensions in the cloud.
func extensionsOn(events []timeline.Event, seed string) []string {
	_, run, _ := timeline.First[timeline.RunStarted](events)
	identities := []string{"extensions-" + seed}
	for _, own := range run.Extensions {
		identities = append(identities, own+"-"+seed)
	}
	return identities
}

// judgeNames finds names that have not followed their shoot: when it rests on a seed, each was last written by that
// seed's extensions, and all of them lead to the same gateway (docs/specification/migration.md#spec-2-9-2,
// docs/specification/nodes-and-seeds.md#spec-7-4).
func judgeNames(f *findings, events []timeline.Event, id, shoot string) {
	if len(ledgerGaps(events)) > 0 {
		return // a call that is missing may have put a name elsewhere
	}
	n := names{findings: f, shoot: shoot, events: events, calls: writesOfNames(events, id), astray: map[int]bool{}}
	read := ledgerReadUntil(events)
	older := fromBackup(events, shoot)
	on := "" // the seed that the shoot rests on
	var last timeline.Event
	for e, seen := range timeline.About[timeline.ShootSeen](events, shoot) {
		was := on
		if on = ""; rests(seen) && !older[e.Seq] {
			on = seen.StatusSeed
		}
		if on != "" && on != was && timeline.Moment(e.At) <= read {
			n.judge(e, on, e.At)
		}
		last = e
	}
	if on != "" && read == math.MaxInt64 { // else the garden may not have said yet who has put a name elsewhere since
		n.judge(last, on, math.MaxInt64)
	}
}

// fromBackup are the states of a shoot, by the Seq of their events, that a garden showed which had lost its disk and
// was restored from its backup. They may be older than what others know of the shoot, until an operation has come
// since.
func fromBackup(events []timeline.Event, shoot string) map[int]bool {
	states := map[int]bool{}
	var restored bool
	var first *timeline.Operation // that the restored garden showed
	for _, e := range events {
		switch payload := e.Payload.(type) {
		case timeline.FaultInjected:
			if payload.Wiped && slices.Contains(payload.Clusters, garden) {
				restored, first = true, nil
			}
		case timeline.ShootSeen:
			if e.Subject != shoot || !restored {
				continue
			}
			if first == nil {
				first = &payload.Operation
			}
			restored = payload.Operation == *first
			states[e.Seq] = restored
		}
	}
	return states
}

// rests says whether a seed has the shoot, awake, and nobody is at work on it. A shoot that was released rests nowhere.
func rests(seen timeline.ShootSeen) bool {
	return !seen.Absent && !seen.Deleting && !seen.WantsToSleep && !seen.Hibernated &&
		seen.SpecSeed == seen.StatusSeed && seen.Operation.State == "Succeeded" && seen.Operation.Type != "Migrate"
}

// writesOfNames are the calls that wrote or deleted names of a shoot, in the cloud's order. The record of its owner is
// no name: it leads nowhere.
func writesOfNames(events []timeline.Event, id string) []made {
	var calls []made
	for e, call := range timeline.About[timeline.CloudCalled](events, id) {
		if call.Took && call.What == "records" && strings.Contains(call.ID, "/") &&
			!strings.Contains(call.ID, "/TXT/") {
			calls = append(calls, made{call, e})
		}
	}
	slices.SortStableFunc(calls, func(a, b made) int { return cmp.Compare(a.Made, b.Made) })
	return calls
}

// names of one shoot.
type names struct {
	*findings
	shoot  string
	events []timeline.Event
	calls  []made
	astray map[int]bool // calls that have been reported, by the Seq of their events
}

// judge where the names lead at a time at which the shoot, as the event shows, rests on a seed.
func (n *names) judge(e timeline.Event, holder string, at time.Duration) {
	leads := map[string]made{}
	for _, call := range n.calls {
		if time.Duration(call.Made) > at {
			break
		}
		if delete(leads, call.ID); call.Verb != "delete" {
			leads[call.ID] = call
		}
	}
	var first *made
	own := extensionsOn(n.events, holder)
	for _, name := range slices.Sorted(maps.Keys(leads)) {
		call := leads[name]
		if n.astray[call.event.Seq] {
			continue
		}
		switch {
		case !slices.Contains(own, call.event.Actor):
			n.add(e.At, proof(call.event.Seq, e.Seq), "%s rests on seed %s, but its name %s leads to %s, where %s has put it",
				n.shoot, holder, call.Name, places(call), call.event.Actor)
			n.astray[call.event.Seq] = true
		case first == nil:
			first = &call
		case places(call) != places(*first):
			n.add(e.At, proof(first.event.Seq, call.event.Seq, e.Seq),
				"%s rests on seed %s, and its name %s leads to %s, but %s to %s",
				n.shoot, holder, first.Name, places(*first), call.Name, places(call))
			n.astray[call.event.Seq] = true
		}
	}
}

// places that a name leads to, in words.
func places(call made) string { return cmp.Or(strings.Join(call.Values, ", "), "nowhere") }
