package measure

import (
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Evacuation is what it took to bring the shoots back that went elsewhere after the first fault because their owner was
// lost.
type Evacuation struct {
	// Shoots that were restored on another seed than that of before, which had not handed them over.
	Shoots int `json:"shoots"`
	// Seconds from the fault until the last of them was restored.
	Seconds float64 `json:"seconds"`
	// RequestsPerShoot are those of the landscape's actors to API servers and the cloud, in that time and until the step
	// then under way had ended, what they would have sent anyway included; users are left out. Absent when nobody counted.
	RequestsPerShoot *float64 `json:"requestsPerShoot,omitempty"`
	// CPUSecondsPerShoot is the processor time of all processes of the landscape in the same stretch of time.
	CPUSecondsPerShoot *float64 `json:"cpuSecondsPerShoot,omitempty"`
}

// outsiders use the landscape and are no part of it: requests of theirs are no cost of an evacuation.
var outsiders = map[string]bool{"user": true, "observer": true, "operator": true, "nodes": true}

// EvacuationOf measures the evacuation; nil if no shoot had to go elsewhere after a fault.
func EvacuationOf(events []timeline.Event) *Evacuation {
	fault, _, any := timeline.First[timeline.FaultInjected](events)
	if !any {
		return nil
	}
	from, restored, over := map[string]string{}, map[string]bool{}, map[string]*handOver{}
	var last time.Duration
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		if over[e.Subject] == nil {
			over[e.Subject] = &handOver{}
		}
		over[e.Subject].take(p)
		// Whoever has arrived has used up the hand-over, before the fault too: it may not be seen that the next Migrate is
		// Aborted.
		there := arrived(p)
		handed := there && over[e.Subject].taken(false) == handedOver
		switch {
		case e.At < fault.At:
			from[e.Subject] = p.StatusSeed
		case !there || restored[e.Subject] || p.StatusSeed == from[e.Subject] || from[e.Subject] == "":
		case handed:
			from[e.Subject] = p.StatusSeed
		default:
			restored[e.Subject], last = true, e.At
		}
	}
	if len(restored) == 0 {
		return nil
	}
	evacuation := &Evacuation{Shoots: len(restored), Seconds: Seconds(last - fault.At)}
	evacuation.takeCost(events, fault.At, last)
	return evacuation
}

// takeCost is the difference between the first look after the fault, which has stopped what died with the seed, and the
// first after the last restore.
func (v *Evacuation) takeCost(events []timeline.Event, fault, restored time.Duration) {
	var before, after *timeline.CostSeen
	for e, p := range timeline.Of[timeline.CostSeen](events) {
		switch {
		case e.At < fault || after != nil:
		case before == nil && e.At < restored:
			before = &p
		case before != nil && e.At >= restored:
			after = &p
		}
	}
	if after == nil {
		return
	}
	var requests int64
	for actor, sent := range after.Requests {
		if !outsiders[actor] {
			requests += sent - before.Requests[actor]
		}
	}
	each, cpu := float64(requests)/float64(v.Shoots), Seconds(time.Duration(after.CPU-before.CPU)/time.Duration(v.Shoots))
	v.RequestsPerShoot, v.CPUSecondsPerShoot = &each, &cpu
}
