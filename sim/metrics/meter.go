package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// Labels that every metric of a run has.
const (
	LabelRun      = "run"
	LabelScenario = "scenario"
	LabelBackend  = "backend"
)

// durations are the buckets of phases: from 0.1 s to 30 min.
var durations = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 300, 600, 1200, 1800}

// latencies are the buckets of requests.
var latencies = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Meter counts the events of one run. It is for one goroutine; what it has counted may be gathered by others.
type Meter struct {
	registry *prometheus.Registry
	traffic  traffic
	world    shootMetrics
	scenario scenarioMetrics
	result   resultMetrics
	phases   *phaseMeter
}

// NewMeter for the run that began with this event, under a name that no other run has.
func NewMeter(run string, start timeline.RunStarted) (*Meter, error) {
	m := &Meter{registry: prometheus.NewRegistry()}
	to := prometheus.WrapRegistererWith(prometheus.Labels{LabelRun: run, LabelScenario: start.Scenario,
		LabelBackend: start.Backend}, m.registry)
	m.traffic, m.world, m.scenario, m.result = newTraffic(), newShootMetrics(), newScenarioMetrics(), newResultMetrics()
	m.phases = newPhaseMeter()
	all := append(m.traffic.all(), m.world.all()...)
	all = append(append(append(all, m.scenario.all()...), m.result.all()...), m.phases.duration, m.phases.recovery)
	for _, c := range all {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("register the metrics of the run %q: %w", run, err)
		}
	}
	return m, m.result.goals(start)
}

// Gatherer of what has been counted.
func (m *Meter) Gatherer() prometheus.Gatherer { return m.registry }

// Take counts one event.
func (m *Meter) Take(e timeline.Event) {
	m.traffic.take(e)
	m.world.take(e)
	m.scenario.take(e)
	m.phases.take(e)
}

// Judged adds the verdict.
func (m *Meter) Judged(r *verdict.Report) {
	m.result.take(r)
	m.phases.judged(r.Measures.Phases)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
