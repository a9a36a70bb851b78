package nodes

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	for _, s := range []ShootStatus{
		{Shoot: "alpha", KwokStarts: 2, Nodes: []NodeStatus{{Ready: true}, {Ready: true}, {}}},
		{Shoot: "beta", KwokStarts: 1, Error: "it does not answer", Nodes: []NodeStatus{{}}},
	} {
		a.shoots[s.Shoot] = &runningShoot{shoot: &shoot{name: s.Shoot, status: s}}
	}
	answer := httptest.NewRecorder()
	a.Metrics().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`nodes_shoots{well="true"} 1`, `nodes_shoots{well="false"} 1`, `nodes_machines{ready="true"} 2`,
		`nodes_machines{ready="false"} 2`, "nodes_kwok_starts 3",
		"process_cpu_seconds_total",
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s is not served:\n%.3000s", want, answer.Body.String())
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(inventory{a})
	metricstest.Check(t, registry)
}
