package environment

import (
	"context"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.Meter = &World{}

// Cost implements world.Meter.
func (w *World) Cost(context.Context) (timeline.CostSeen, error) {
	cpu, err := w.landscape.CPU()
	seen := timeline.CostSeen{Requests: map[string]int64{}, CPU: timeline.Length(cpu)}
	for _, t := range w.landscape.Traffic() {
		seen.Requests[t.Actor] += t.Requests
		seen.Links = append(seen.Links, timeline.LinkSeen{
			From: t.Actor, To: t.Target, Requests: t.Requests, BytesToServer: t.BytesToServer, BytesToClient: t.BytesToClient,
			Errors: t.Errors, Faults: t.Faults,
		})
	}
	return seen, err
}
