package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// scenarioMetrics is what the scenario does: its steps and faults.
type scenarioMetrics struct {
	events, steps *prometheus.CounterVec
	active, hits  *prometheus.GaugeVec
}

func newScenarioMetrics() scenarioMetrics {
	return scenarioMetrics{
		events: counter("transplant_events_total", "Events on the timeline.", "kind"),
		steps: counter("transplant_steps_total",
			"Steps of the scenario that have ended, by how: done, unmet, unknown, failed.", "verb", "outcome"),
		active: gauge("transplant_fault_active", "Whether a fault of the scenario is at work.", "fault", "kind"),
		hits:   gauge("transplant_fault_hits", "How often a fault hit; known when it has been healed.", "fault", "kind"),
	}
}

func (s scenarioMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{s.events, s.steps, s.active, s.hits}
}

func (s scenarioMetrics) take(e timeline.Event) {
	s.events.WithLabelValues(string(e.Kind)).Inc()
	switch p := e.Payload.(type) {
	case timeline.StepEnded:
		s.steps.WithLabelValues(p.Verb, strings.ToLower(string(p.Outcome))).Inc()
	case timeline.FaultInjected:
		s.active.WithLabelValues(e.Subject, kindOf(p.Fault)).Set(1)
	case timeline.FaultHealed:
		s.active.WithLabelValues(e.Subject, kindOf(p.Fault)).Set(0)
		s.hits.WithLabelValues(e.Subject, kindOf(p.Fault)).Set(float64(p.Hits))
	}
}

// kindOf a fault is what stands before its brackets.
func kindOf(fault string) string {
	kind, _, _ := strings.Cut(fault, "(")
	return kind
}
