package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// traffic is what the shoots' users did, and what was asked of the cloud and of the API servers.
type traffic struct {
	writes, reads, reached *prometheus.CounterVec
	latency                *prometheus.HistogramVec
	up                     *prometheus.GaugeVec
	cloud                  *prometheus.CounterVec
	links                  linkMetrics
	cpu                    *prometheus.GaugeVec
}

func newTraffic() traffic {
	return traffic{
		writes: counter("transplant_writes_total", "Writes to a shoot, by what became of them.", "shoot", "actor",
			"outcome"),
		reads: counter("transplant_reads_total", "Reads from a shoot, by what became of them.", "shoot", "outcome"),
		reached: counter("transplant_api_probes_total", "Attempts to reach a shoot's API by its name, over new connections.",
			"shoot", "outcome"),
		latency: histogram("transplant_write_duration_seconds", "Time from sending a write to its answer, or to the error.",
			latencies, "outcome"),
		up: gauge("transplant_api_up", "Whether a shoot's API answered the last attempt to reach it by its name.",
			"shoot"),
		cloud: counter("transplant_cloud_calls_total",
			"Mutating calls in the cloud's ledger, by who made them; outcome is OK, Replayed, or Refused.", "actor", "verb",
			"resource", "outcome"),
		links: newLinkMetrics(),
		cpu: gauge("transplant_landscape_cpu_seconds",
			"Processor time of all processes of the landscape that run, since they were started."),
	}
}

func (t traffic) all() []prometheus.Collector {
	return append(t.links.all(), t.writes, t.reads, t.reached, t.latency, t.up, t.cloud, t.cpu)
}

func (t traffic) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.Write:
		outcome := strings.ToLower(string(p.Outcome))
		t.writes.WithLabelValues(e.Subject, e.Actor, outcome).Inc()
		t.latency.WithLabelValues(outcome).Observe(time.Duration(p.Answered - p.Sent).Seconds())
	case timeline.Read:
		t.reads.WithLabelValues(e.Subject, strings.ToLower(string(p.Outcome))).Inc()
	case timeline.Reached:
		t.reached.WithLabelValues(e.Subject, strings.ToLower(string(p.Outcome))).Inc()
		t.up.WithLabelValues(e.Subject).Set(one(p.Outcome == timeline.Acknowledged))
	case timeline.CloudCalled:
		outcome := p.Outcome
		if outcome != "OK" && outcome != "Replayed" {
			outcome = "Refused"
		}
		t.cloud.WithLabelValues(e.Actor, p.Verb, p.What, outcome).Inc()
	case timeline.CostSeen:
		t.links.take(p.Links)
		t.cpu.WithLabelValues().Set(time.Duration(p.CPU).Seconds())
	}
}
