package backup

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	metrics.saved(Object{Kind: Full, Last: 7}, 0, time.Unix(1, 0))
	metrics.failed()
	metricstest.Check(t, registry)
}
