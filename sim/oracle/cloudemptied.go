package oracle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// CloudEmptied promises that a shoot that is deleted leaves nothing in the cloud, and that what its own objects stood
// for there, load balancers and volumes, goes before its machines (docs/specification/cleanup.md#spec-6-7,
// docs/specification/cleanup.md#spec-6-8).
type CloudEmptied struct{}

var _ Oracle = CloudEmptied{}

// Name of the promise.
func (CloudEmptied) Name() string { return "CloudEmptied" }

// artefacts are the kinds that objects of a shoot stand for.
var artefacts = map[string]bool{"load-balancers": true, "volumes": true}

// Lacks a shoot with nodes that was deleted, and its ledger.
func (CloudEmptied) Lacks(events []timeline.Event) []string {
	called := timeline.Subjects[timeline.CloudCalled](events)
	var lacks []string
	deleted := false
	for id, shoot := range technicalIDs(events) {
		if steadyNodes(events, shoot) == 0 || len(endsOf(events, shoot)) == 0 {
			continue
		}
		if deleted = true; !slices.Contains(called, id) {
			lacks = append(lacks, "the cloud's ledger for "+shoot)
		}
	}
	if !deleted {
		lacks = append(lacks, "the end of a shoot with nodes")
	}
	return append(lacks, ledgerLacks(events)...)
}

// Judge what was there when a shoot was gone.
func (o CloudEmptied) Judge(events []timeline.Event) []Violation {
	f, read := findings{oracle: o.Name()}, ledgerReadUntil(events)
	gaps := len(ledgerGaps(events)) > 0
	for id, shoot := range technicalIDs(events) {
		begun := time.Duration(0)
		for _, end := range endsOf(events, shoot) {
			known := timeline.Moment(end.At) <= read && !gaps
			o.judgeLife(&f, shoot, callsIn(events, id, begun, end.At), askedToGo(events, shoot, end.At), end, known)
			begun = end.At
		}
	}
	return f.sorted()
}

// endsOf are the moments at which a shoot that had lived was gone.
func endsOf(events []timeline.Event, shoot string) []timeline.Event {
	var ends []timeline.Event
	lived := false
	for e, seen := range timeline.About[timeline.ShootSeen](events, shoot) {
		if seen.Absent && lived {
			ends = append(ends, e)
		}
		lived = !seen.Absent
	}
	return ends
}

// askedToGo is when the scenario last asked for the shoot's deletion; the end itself if it never did.
func askedToGo(events []timeline.Event, shoot string, end time.Duration) timeline.Moment {
	asked := end
	for e, step := range timeline.About[timeline.StepStarted](events, shoot) {
		if step.Verb == "delete" && !step.Refused && e.At < end {
			asked = e.At
		}
	}
	return timeline.Moment(asked)
}

// made is a call that took effect, with its event.
type made struct {
	timeline.CloudCalled
	event timeline.Event
}

// callsIn are the calls for a shoot in a stretch of time, in the cloud's order. They are read after the fact, so that
// it is the cloud's own time that counts.
func callsIn(events []timeline.Event, id string, from, to time.Duration) []made {
	var calls []made
	for e, call := range timeline.Of[timeline.CloudCalled](events) {
		if at := time.Duration(call.Made); e.Subject == id && call.Took && !fluid[call.What] && at > from && at <= to {
			calls = append(calls, made{call, e})
		}
	}
	slices.SortStableFunc(calls, func(a, b made) int { return cmp.Compare(a.Made, b.Made) })
	return calls
}

// judgeLife of a shoot by its calls, which are known up to its end, or not.
func (CloudEmptied) judgeLife(f *findings, shoot string, calls []made, asked timeline.Moment, end timeline.Event,
	known bool) {
	left, ended := map[string]made{}, (*made)(nil)
	for _, call := range calls {
		switch key := call.What + "/" + call.ID; call.Verb {
		case "create":
			left[key] = call
		case "delete":
			delete(left, key)
			if call.What == "machines" && ended == nil && call.Made > asked {
				ended = &call
			}
			if artefacts[call.What] && ended != nil {
				f.add(call.event.At, proof(ended.event.Seq, call.event.Seq), "%s: %s %s goes only after machine %s has gone",
					shoot, call.What, nameOf(call.CloudCalled), nameOf(ended.CloudCalled))
			}
		}
	}
	if !known {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		call := left[key]
		f.add(end.At, proof(call.event.Seq, end.Seq), "%s is gone, and has left %s %s in the cloud", shoot, call.What,
			nameOf(call.CloudCalled))
	}
}
