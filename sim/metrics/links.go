package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// linkMetrics is what crosses the links: from actors to clusters, to the cloud, and to all shoots together.
type linkMetrics struct {
	requests, bytes, errors *prometheus.CounterVec

	seen map[[2]string]timeline.LinkSeen // by from and to
}

func newLinkMetrics() linkMetrics {
	return linkMetrics{
		requests: counter("transplant_link_requests_total", "Requests over the links from an actor to a target.", "from",
			"to"),
		bytes: counter("transplant_link_bytes_total",
			"Bytes on the wire of the links, those of TLS included; toward the server or the client.", "from", "to", "toward"),
		errors: counter("transplant_link_errors_total",
			"Answers of 500 and above, requests without a whole answer, and what faults answered or broke.", "from", "to"),
		seen: map[[2]string]timeline.LinkSeen{},
	}
}

func (l linkMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{l.requests, l.bytes, l.errors}
}

// take what has crossed since the last look.
func (l linkMetrics) take(links []timeline.LinkSeen) {
	for _, now := range links {
		before := l.seen[[2]string{now.From, now.To}]
		add := func(counter *prometheus.CounterVec, now, before int64, labels ...string) {
			counter.WithLabelValues(labels...).Add(float64(max(0, now-before)))
		}
		add(l.requests, now.Requests, before.Requests, now.From, now.To)
		add(l.bytes, now.BytesToServer, before.BytesToServer, now.From, now.To, "server")
		add(l.bytes, now.BytesToClient, before.BytesToClient, now.From, now.To, "client")
		add(l.errors, now.Errors, before.Errors, now.From, now.To)
		l.seen[[2]string{now.From, now.To}] = now
	}
}
