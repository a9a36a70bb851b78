package nodes

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// inventory counts the shoots and nodes of an agent when somebody looks.
type inventory struct{ *Agent }

var _ prometheus.Collector = inventory{}

var (
	shootsDesc = prometheus.NewDesc("nodes_shoots",
		"Shoots that have machines, by whether the last look at them went well.", []string{"well"}, nil)
	nodesDesc = prometheus.NewDesc("nodes_machines",
		"Machines that stand for nodes, by whether their node was registered and ready at the last look.", []string{"ready"},
		nil)
	startsDesc = prometheus.NewDesc("nodes_kwok_starts", "How often kwok was started for the shoots that there are.", nil,
		nil)
)

// Describe implements prometheus.Collector.
func (inventory) Describe(to chan<- *prometheus.Desc) {
	to <- shootsDesc
	to <- nodesDesc
	to <- startsDesc
}

// Collect implements prometheus.Collector.
func (i inventory) Collect(to chan<- prometheus.Metric) {
	shoots, nodes, starts := map[bool]int{}, map[bool]int{}, 0
	for _, shoot := range i.Status().Shoots {
		shoots[shoot.Error == ""]++
		starts += shoot.KwokStarts
		for _, node := range shoot.Nodes {
			nodes[node.Ready]++
		}
	}
	for _, is := range []bool{true, false} {
		to <- prometheus.MustNewConstMetric(shootsDesc, prometheus.GaugeValue, float64(shoots[is]), strconv.FormatBool(is))
		to <- prometheus.MustNewConstMetric(nodesDesc, prometheus.GaugeValue, float64(nodes[is]), strconv.FormatBool(is))
	}
	to <- prometheus.MustNewConstMetric(startsDesc, prometheus.GaugeValue, float64(starts))
}

// Metrics answers GET /metrics with what the agent and its process measure.
func (a *Agent) Metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		inventory{a})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}
