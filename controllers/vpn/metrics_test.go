package vpn

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	m, registry := newServer("", clock.RealClock{}, logr.Discard()).metrics, prometheus.NewRegistry()
	registry.MustRegister(m.tunnels, m.connections)
	metricstest.Check(t, registry)
}
