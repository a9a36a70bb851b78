package run

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestFlowsAreMeasured(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for err, want := range map[error]string{nil: "succeeded", errors.New("away"): "failed",
		fmt.Errorf("%w: it is gone", ErrTakenOver): "taken over"} {
		if got := resultOf(err); got != want {
			t.Errorf("%v counts as %s, want %s", err, got, want)
		}
		m.ran("Restore", resultOf(err), 3*time.Second)
	}
	metricstest.Check(t, registry)
	if n := testutil.CollectAndCount(m.flows); n != 3 {
		t.Errorf("%d series, want one for each result", n)
	}
	(*Metrics)(nil).ran("Restore", "succeeded", time.Second)
}
