package run

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// How a flow ends.
const (
	flowSucceeded = "succeeded"
	flowFailed    = "failed"     // and is tried again, unless nothing mends it
	flowTakenOver = "taken over" // the shoot is another's by now
)

// flowBuckets are from a tenth of a second to half an hour.
var flowBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800}

// Metrics of flows: migrations and restores among them. A nil Metrics counts nothing. Labels are closed sets; no shoot
// is one.
type Metrics struct{ flows *prometheus.HistogramVec }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{flows: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "shoot_flow_duration_seconds", Help: "How long runs of flows took, by operation and how they ended.",
		Buckets: flowBuckets,
	}, []string{"operation", "result"})}
	if err := registry.Register(m.flows); err != nil {
		return nil, err
	}
	return m, nil
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return flowSucceeded
	case errors.Is(err, ErrTakenOver):
		return flowTakenOver
	}
	return flowFailed
}

func (m *Metrics) ran(operation gardencorev1beta1.LastOperationType, result string, took time.Duration) {
	if m != nil {
		m.flows.WithLabelValues(string(operation), result).Observe(took.Seconds())
	}
}
