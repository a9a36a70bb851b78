package stage

import (
	"context"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

var _ world.Meter = &World{}

// Cost implements world.Meter.
func (w *World) Cost(context.Context) (timeline.CostSeen, error) {
	cpu, err := w.landscape.CPU()
	return timeline.CostSeen{Requests: w.landscape.Requests(), CPU: timeline.Length(cpu)}, err
}
