package cloud

import (
	"errors"
	"net/http"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what the cloud was asked. Its tenants' objects are counted when somebody looks.
type metrics struct {
	calls, names *prometheus.CounterVec
	objects      *prometheus.Desc
}

func newMetrics() *metrics {
	return &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloud_calls_total",
			Help: "Calls of the API, by verb, resource and result: OK, Dropped, or the code of the refusal.",
		}, []string{"verb", "resource", "result"}),
		names: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cloud_dns_questions_total", Help: "Questions to the DNS server, by the code of the answer.",
		}, []string{"answer"}),
		objects: prometheus.NewDesc("cloud_objects", "Objects that there are, by resource.", []string{"resource"}, nil),
	}
}

func (m *metrics) called(c *call, err error) {
	result := "OK"
	switch {
	case c.dropped, errors.Is(err, errDropped):
		result = "Dropped"
	case err != nil:
		result = string(asRefusal(err).Code)
	}
	m.calls.WithLabelValues(c.verb, c.kind, result).Inc()
}

func (m *metrics) asked(reply *dns.Msg) {
	m.names.WithLabelValues(dns.RcodeToString[reply.Rcode]).Inc()
}

// Metrics answers what the cloud and its process measure, to a Prometheus.
func (s *Server) Metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.metrics.calls, s.metrics.names, inventory{s})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}

// inventory counts the objects.
type inventory struct{ *Server }

var _ prometheus.Collector = inventory{}

// Describe implements prometheus.Collector.
func (i inventory) Describe(to chan<- *prometheus.Desc) { to <- i.metrics.objects }

// Collect implements prometheus.Collector.
func (i inventory) Collect(to chan<- prometheus.Metric) {
	i.read.RLock()
	defer i.read.RUnlock()
	for kind, rows := range i.state.rows {
		to <- prometheus.MustNewConstMetric(i.metrics.objects, prometheus.GaugeValue, float64(len(rows)), kind)
	}
}
