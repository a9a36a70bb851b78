package oracle

import (
	"math"
	"slices"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// stretch of time.
type stretch struct{ from, to time.Duration }

// absence of a cluster: the stretches in which faults have it away.
type absence []stretch

func absenceOf(events []timeline.Event, cluster string) (all absence) {
	since := map[string]time.Duration{} // by fault
	for _, e := range events {
		switch p := e.Payload.(type) {
		case timeline.FaultInjected:
			if slices.Contains(p.Clusters, cluster) {
				since[e.Subject] = e.At
			}
		case timeline.FaultHealed:
			if began, away := since[e.Subject]; away {
				all = append(all, stretch{began, e.At})
			}
			delete(since, e.Subject)
		}
	}
	for _, began := range since {
		all = append(all, stretch{began, math.MaxInt64})
	}
	slices.SortFunc(all, func(a, b stretch) int { return int(a.from - b.from) })
	return all
}

// within is how long the cluster is away between two moments.
func (a absence) within(from, to time.Duration) (sum time.Duration) {
	for _, s := range a {
		begin, end := max(from, s.from), min(to, s.to)
		if end > begin {
			sum += end - begin
			from = end // where faults overlap it is away once
		}
	}
	return sum
}
