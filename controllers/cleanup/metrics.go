package cleanup

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How a step of the clean-up ends.
const (
	resultDone      = "done"
	resultRemaining = "held"   // objects are still there
	resultFailed    = "failed" // nobody knows what is there
)

// stepBuckets are from a tenth of a second to half an hour.
var stepBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}

// Metrics of the clean-up. A nil Metrics counts nothing. Labels are steps and results; no shoot and no object is one.
type Metrics struct {
	steps     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	finalized *prometheus.CounterVec
	remaining *prometheus.GaugeVec

	mu   sync.Mutex
	left map[leftOf]int
}

// leftOf is a step of the clean-up of one shoot.
type leftOf struct {
	namespace string
	step      Step
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		left: map[leftOf]int{},
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cleanup_steps_total",
			Help: "Steps of the clean-up of shoots in deletion, by how they ended."}, []string{"step", "result"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cleanup_step_duration_seconds",
			Help: "How long steps of the clean-up took that were done.", Buckets: stepBuckets}, []string{"step"}),
		finalized: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cleanup_finalized_objects_total",
			Help: "Objects whose finalizers were taken off because they did not go."}, []string{"step"}),
		remaining: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "cleanup_remaining_objects",
			Help: "Objects that hold up the deletion of shoots, at the last look."}, []string{"step"}),
	}
	for _, step := range Steps() {
		for _, result := range []string{resultDone, resultRemaining, resultFailed} {
			m.steps.WithLabelValues(step.String(), result) // there from the start, so that a first one is an increase
		}
		m.durations.WithLabelValues(step.String())
		m.finalized.WithLabelValues(step.String())
		m.remaining.WithLabelValues(step.String())
	}
	for _, c := range []prometheus.Collector{m.steps, m.durations, m.finalized, m.remaining} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// looked notes what a look at a shoot has found to be still there.
func (m *Metrics) looked(namespace string, step Step, objects int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := leftOf{namespace, step}
	m.remaining.WithLabelValues(step.String()).Add(float64(objects - m.left[key]))
	if m.left[key] = objects; objects == 0 {
		delete(m.left, key)
	}
}

// finalize counts an object that lost its finalizers.
func (m *Metrics) finalize(step Step) {
	if m != nil {
		m.finalized.WithLabelValues(step.String()).Inc()
	}
}

// ended counts a step. What holds it up stays counted, as it is still there; of a step that ended otherwise nobody
// knows.
func (m *Metrics) ended(namespace string, step Step, took time.Duration, err error) {
	if m == nil {
		return
	}
	remaining := (*Remaining)(nil)
	switch {
	case err == nil:
		m.steps.WithLabelValues(step.String(), resultDone).Inc()
		m.durations.WithLabelValues(step.String()).Observe(took.Seconds())
	case errors.As(err, &remaining):
		m.steps.WithLabelValues(step.String(), resultRemaining).Inc()
		return
	default:
		m.steps.WithLabelValues(step.String(), resultFailed).Inc()
	}
	m.looked(namespace, step, 0)
}
