package verdict

import (
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// mostProofs bounds the events that are named for a goal that was missed.
const mostProofs = 20

// proofOf the value of a measure: the events at which it begins and ends, by their numbers, in order.
func proofOf(measured string, events []timeline.Event) []int {
	var proof []int
	switch measured {
	case "apiDowntime":
		proof = outageProof(events, timeline.Subjects[timeline.Reached](events))
	case "bystanderDowntime":
		proof = outageProof(events, measure.Bystanders(events))
	case "rto":
		proof = measure.RecoveryProof(events)
	case "rpo", "lostWrites":
		for _, loss := range oracle.LostWrites(events) {
			proof = append(proof, loss.Events...)
		}
	case "restoresAtOnce":
		proof = measure.Herd(events)
	}
	slices.Sort(proof)
	proof = slices.Compact(proof)
	return proof[:min(len(proof), mostProofs)]
}

// outageProof are the attempts that bound every outage of the shoots.
func outageProof(events []timeline.Event, shoots []string) []int {
	edges := map[string]map[time.Duration]bool{}
	var proof []int
	for e, p := range timeline.Of[timeline.Reached](events) {
		if !slices.Contains(shoots, e.Subject) {
			continue
		}
		known, looked := edges[e.Subject]
		if !looked {
			known = map[time.Duration]bool{}
			for _, o := range measure.AvailabilityOf(events, e.Subject).Outages {
				known[o.From], known[o.To] = true, true
			}
			edges[e.Subject] = known
		}
		if known[time.Duration(p.Answered)] || known[time.Duration(p.Sent)] {
			proof = append(proof, e.Seq)
		}
	}
	return proof
}
