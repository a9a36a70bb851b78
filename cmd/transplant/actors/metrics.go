package actors

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/care"
	"github.com/transplant-sim/transplant/controllers/cleanup"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
)

// gardenletMetrics are what the duties of a gardenlet measure beside what controller-runtime does.
type gardenletMetrics struct {
	flows   *run.Metrics
	care    *care.Metrics
	cleanup *cleanup.Metrics
}

func newGardenletMetrics(registry prometheus.Registerer, shoots client.Reader, seed string) (*gardenletMetrics, error) {
	flows, first := run.NewMetrics(registry)
	cares, second := care.NewMetrics(registry, shoots, seed)
	cleans, third := cleanup.NewMetrics(registry)
	if err := errors.Join(first, second, third); err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return &gardenletMetrics{flows: flows, care: cares, cleanup: cleans}, nil
}
