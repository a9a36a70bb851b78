// Package measure computes from a timeline how well it went: downtime, lost writes, recovery, phases. Like oracles its
// functions are pure; unlike them they give numbers and no verdict. What does not apply is absent.
package measure

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Measures of a run. With several shoots each is that of the worst, but for lost writes and the evacuation, which are
// of all shoots together, and restores at once, which are of the worst seed.
type Measures struct {
	// APIDowntimeSeconds is how long the API was unreachable by name, in all, times of intended sleep left out.
	APIDowntimeSeconds *float64 `json:"apiDowntimeSeconds,omitempty"`
	// APILongestGapSeconds is the longest single outage in it.
	APILongestGapSeconds *float64 `json:"apiLongestGapSeconds,omitempty"`
	// APIUnobservedSeconds is how long nobody tried to reach the API though it was due: the downtime may be longer by
	// that. Absent when it was observed all the time.
	APIUnobservedSeconds *float64 `json:"apiUnobservedSeconds,omitempty"`
	// BystanderDowntimeSeconds is the downtime of the shoots that stayed on their seed all the time while others moved.
	// In APIDowntimeSeconds they are hidden behind those.
	BystanderDowntimeSeconds *float64 `json:"bystanderDowntimeSeconds,omitempty"`
	// LostWrites is the number of acknowledged writes that are not in the data at the end, of all shoots together.
	LostWrites *int `json:"lostWrites,omitempty"`
	// RPOSeconds is the time between the newest write that survived before the first lost one of a store, and the newest
	// lost one of it, an outage before its first write left out; 0 when none is lost. Of several stores it is that of the
	// worst.
	RPOSeconds *float64 `json:"rpoSeconds,omitempty"`
	// RTOSeconds is the time from a fault to the first write that was acknowledged after the recovery from it: by an owner
	// to whom the one before had not handed over, or by one to whom that had handed over before anybody had reached it.
	// For a shoot without a load it is the first time that its API was reached. Of several recoveries it is the longest. A
	// planned migration has none, whatever fault there was beside it: its price is the downtime.
	RTOSeconds *float64 `json:"rtoSeconds,omitempty"`
	// RestoresAtOnce is the largest number of shoots that one seed was restoring at the same time.
	RestoresAtOnce *int `json:"restoresAtOnce,omitempty"`
	// Evacuation is what it took to bring shoots back elsewhere after a fault, those left out that were handed over.
	Evacuation *Evacuation `json:"evacuation,omitempty"`
	// Phases are the parts of migrations and the moments of recoveries, in seconds: see Phases and Recovery.
	Phases map[string]float64 `json:"phases,omitempty"`
}

// Numbers are the measures that apply to a run, phases left out, by the names of their fields in verdict.json.
func (m Measures) Numbers() iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, one := range []struct {
			name    string
			seconds *float64
			count   *int
		}{
			{name: "apiDowntimeSeconds", seconds: m.APIDowntimeSeconds},
			{name: "apiLongestGapSeconds", seconds: m.APILongestGapSeconds},
			{name: "apiUnobservedSeconds", seconds: m.APIUnobservedSeconds},
			{name: "bystanderDowntimeSeconds", seconds: m.BystanderDowntimeSeconds},
			{name: "rtoSeconds", seconds: m.RTOSeconds}, {name: "rpoSeconds", seconds: m.RPOSeconds},
			{name: "lostWrites", count: m.LostWrites}, {name: "restoresAtOnce", count: m.RestoresAtOnce},
		} {
			var value float64
			switch {
			case one.seconds != nil:
				value = *one.seconds
			case one.count != nil:
				value = float64(*one.count)
			default:
				continue
			}
			if !yield(one.name, value) {
				return
			}
		}
	}
}

// Of measures a run.
func Of(events []timeline.Event) Measures {
	var m Measures
	bystanders := Bystanders(events)
	for _, shoot := range shoots(events) {
		if seen := AvailabilityOf(events, shoot); seen.Attempted && isFollowed(events, shoot) {
			var longest time.Duration
			for _, o := range seen.Outages {
				longest = max(longest, o.Length())
			}
			worst(&m.APIDowntimeSeconds, seen.Downtime())
			worst(&m.APILongestGapSeconds, longest)
			if slices.Contains(bystanders, shoot) {
				worst(&m.BystanderDowntimeSeconds, seen.Downtime())
			}
			if blind := total(seen.Unobserved); blind > 0 {
				worst(&m.APIUnobservedSeconds, blind)
			}
		}
		if rpo, applies := rpo(events, shoot); applies {
			worst(&m.RPOSeconds, rpo)
		}
		if rto, applies := rto(events, shoot); applies {
			worst(&m.RTOSeconds, rto)
		}
	}
	if m.RPOSeconds != nil {
		lost := len(oracle.LostWrites(events))
		m.LostWrites = &lost
	}
	if most, any := RestoresAtOnce(events); any {
		m.RestoresAtOnce = &most
	}
	m.Evacuation = EvacuationOf(events)
	m.Phases = Phases(events)
	if recovery := Recovery(events); len(recovery) > 0 {
		if m.Phases == nil {
			m.Phases = map[string]float64{}
		}
		maps.Copy(m.Phases, recovery)
	}
	return m
}

func worst(into **float64, value time.Duration) {
	if seconds := Seconds(value); *into == nil || **into < seconds {
		*into = &seconds
	}
}

// Seconds rounds to milliseconds: more is not measured.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

func shoots(events []timeline.Event) []string { return timeline.Subjects[timeline.ShootReady](events) }

// rpo applies to shoots that were written to and whose data was read at the end.
func rpo(events []timeline.Event, shoot string) (time.Duration, bool) {
	var acknowledged []timeline.Write
	for _, w := range timeline.About[timeline.Write](oracle.LastLife(events, shoot), shoot) {
		if w.Outcome == timeline.Acknowledged {
			acknowledged = append(acknowledged, w)
		}
	}
	lost := map[int]bool{}
	for _, loss := range oracle.LostWrites(events) {
		if loss.Shoot == shoot {
			lost[loss.Write.Number] = true
		}
	}
	read := slices.Contains(timeline.Subjects[timeline.DataSeen](events), shoot)
	if !read || len(acknowledged) == 0 || oracle.MissingWrites(events, shoot) != "" {
		return 0, false
	}
	if len(lost) == 0 {
		return 0, true
	}
	return longestLoss(acknowledged, lost, oracle.EpochsOf(events, shoot)), true
}

// longestLoss of a shoot that may be restored more than once. Each time it loses the end of one store; what is kept
// within that, behind a loss, makes it no smaller. What was before a store's first write was sent is no loss of it:
// nobody was there to acknowledge.
func longestLoss(acknowledged []timeline.Write, lost map[int]bool, epochs oracle.Epochs) (longest time.Duration) {
	slices.SortStableFunc(acknowledged, func(a, b timeline.Write) int { return int(a.Answered - b.Answered) })
	begun, before := map[store]timeline.Moment{}, map[store]timeline.Moment{}
	for _, w := range acknowledged {
		s := storeOf(epochs, w)
		if sent, known := begun[s]; !known || w.Sent < sent {
			begun[s] = w.Sent
		}
	}
	var kept timeline.Moment
	for _, w := range acknowledged {
		if !lost[w.Number] {
			kept = w.Answered
			continue
		}
		s := storeOf(epochs, w)
		if _, known := before[s]; !known {
			before[s] = max(kept, begun[s])
		}
		longest = max(longest, time.Duration(w.Answered-before[s]))
	}
	return longest
}

// rto of the longest recovery of a shoot; it applies when there was one.
func rto(events []timeline.Event, shoot string) (time.Duration, bool) {
	worst, any := comebacksOf(events, shoot).worst()
	return worst.took, any
}

// RecoveryProof are the events between which the RTO lies, by their numbers: the fault, and the first good answer after
// the recovery.
func RecoveryProof(events []timeline.Event) (proof []int) {
	var longest time.Duration
	for _, shoot := range shoots(events) {
		if worst, any := comebacksOf(events, shoot).worst(); any && (proof == nil || worst.took > longest) {
			proof, longest = []int{worst.cause.Seq, worst.answered.Seq}, worst.took
		}
	}
	return proof
}

// isFollowed says that somebody has seen the Shoot in the garden.
func isFollowed(events []timeline.Event, shoot string) bool {
	for range timeline.About[timeline.ShootSeen](events, shoot) {
		return true
	}
	return false
}
