package observe

import (
	"context"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Cost implements world.Meter.
func (o *Observer) Cost(context.Context) (timeline.CostSeen, error) {
	cpu, err := o.Landscape.CPU()
	seen := timeline.CostSeen{Requests: map[string]int64{}, CPU: timeline.Length(cpu)}
	for _, t := range o.Landscape.Links().Traffic() {
		seen.Requests[t.Actor] += t.Requests
		seen.Links = append(seen.Links, timeline.LinkSeen{
			From: t.Actor, To: t.Target, Requests: t.Requests, BytesToServer: t.BytesToServer, BytesToClient: t.BytesToClient,
			Errors: t.Errors, Faults: t.Faults,
		})
	}
	return seen, err
}
