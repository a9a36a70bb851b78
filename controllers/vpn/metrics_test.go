package vpn

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	m, registry := newServer("", logr.Discard()).metrics, prometheus.NewRegistry()
	registry.MustRegister(m.tunnels, m.connections)
	metricstest.Check(t, registry)
}
