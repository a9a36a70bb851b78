package guard_test

import (
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/etcd/datadir"
	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/controllers/metricstest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	dir := datadir.Dir(filepath.Join(t.TempDir(), "data"))
	guarded, err := validity.NewGuard(validity.GuardOptions{Self: owner, Timing: timing, Clock: clock,
		Remember: dir.WriteMemory})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	if err := guard.NewProxy(guarded, clock, "unix:///nowhere", nil).Register(registry); err != nil {
		t.Fatal(err)
	}
	metricstest.Check(t, registry)
}
