package maintenance

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/maintenance/version"
)

// How a maintenance ends.
const (
	resultUnchanged = "unchanged" // nothing was to be updated or rotated
	resultSucceeded = "succeeded"
	resultFailed    = "failed" // in part, or as a whole
)

// What a maintenance changes.
const (
	changesKubernetes  = "kubernetes"
	changesImage       = "image"
	changesCredentials = "credentials"
)

// Metrics of maintenance. A nil Metrics counts nothing. Labels are closed sets; no shoot is one.
type Metrics struct{ runs, changes *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maintenance_runs_total", Help: "Maintenances of shoots, by how they ended.",
		}, []string{"result"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "maintenance_changes_total", Help: "Updates and rotations that maintenances were for, by what became of them.",
		}, []string{"of", "result"}),
	}
	for _, result := range []string{resultUnchanged, resultSucceeded, resultFailed} {
		m.runs.WithLabelValues(result) // there from the start, so that a first one is an increase
	}
	for _, of := range []string{changesKubernetes, changesImage, changesCredentials} {
		m.changes.WithLabelValues(of, resultSucceeded)
		m.changes.WithLabelValues(of, resultFailed)
	}
	for _, c := range []prometheus.Collector{m.runs, m.changes} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// refused counts a maintenance of which nothing could be done.
func (m *Metrics) refused() {
	if m != nil {
		m.runs.WithLabelValues(resultFailed).Inc()
	}
}

// carriedOut counts a maintenance that was written.
func (m *Metrics) carriedOut(plan Plan) {
	if m == nil {
		return
	}
	result := resultUnchanged
	count := func(of, is string) {
		m.changes.WithLabelValues(of, is).Inc()
		if result != resultFailed {
			result = is
		}
	}
	countUpdate(&plan.ControlPlane, changesKubernetes, count)
	for _, pool := range plan.Pools {
		countUpdate(pool.Kubernetes, changesKubernetes, count)
		countUpdate(pool.MachineImage, changesImage, count)
	}
	for range plan.Rotations {
		count(changesCredentials, resultSucceeded)
	}
	m.runs.WithLabelValues(result).Inc()
}

func countUpdate(u *version.Update, of string, count func(of, is string)) {
	switch {
	case u == nil:
	case u.Changes():
		count(of, resultSucceeded)
	case u.Class == version.Failed:
		count(of, resultFailed)
	}
}
