package care

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health"
)

// countTimeout bounds how long a scrape may take to count the shoots, which are read from a cache.
const countTimeout = 5 * time.Second

// statuses that a condition may have.
var statuses = []gardencorev1beta1.ConditionStatus{
	gardencorev1beta1.ConditionTrue, gardencorev1beta1.ConditionFalse, gardencorev1beta1.ConditionUnknown,
	gardencorev1beta1.ConditionProgressing,
}

// Metrics of care: how many of a seed's shoots are how, and how often that changes. A nil Metrics counts nothing.
// Labels are the types that care writes and the statuses that there are; no shoot is one.
type Metrics struct {
	shoots                  client.Reader
	seed                    string
	conditions, constraints *prometheus.Desc
	changes                 *prometheus.CounterVec
}

var _ prometheus.Collector = &Metrics{}

// NewMetrics registers the metrics of one seed. The shoots are read at every scrape, so the reader should be a cache.
func NewMetrics(registry prometheus.Registerer, shoots client.Reader, seed string) (*Metrics, error) {
	labels := []string{"type", "status"}
	m := &Metrics{
		shoots: shoots, seed: seed,
		conditions: prometheus.NewDesc("care_shoot_conditions", "Shoots of the seed by the status of a condition.", labels,
			nil),
		constraints: prometheus.NewDesc("care_shoot_constraints", "Shoots of the seed by the status of a constraint.", labels,
			nil),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "care_condition_changes_total",
			Help: "How often a condition or constraint of a shoot got a status that it did not have.",
		}, labels),
	}
	for _, kind := range slices.Concat(health.ConditionTypes(), health.ConstraintTypes()) {
		for _, status := range statuses {
			m.changes.WithLabelValues(string(kind), string(status)) // there from the start, so that a first one is an increase
		}
	}
	for _, c := range []prometheus.Collector{m, m.changes} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { to <- m.conditions; to <- m.constraints }

// Collect implements prometheus.Collector. While the cache has not started there is nothing to count.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTimeout) // a scrape brings no context
	defer cancel()
	var all gardencorev1beta1.ShootList
	if err := m.shoots.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	conditions, constraints := newTally(health.ConditionTypes()), newTally(health.ConstraintTypes())
	for i := range all.Items {
		if shoot := &all.Items[i]; ptr.Deref(shoot.Status.SeedName, "") == m.seed {
			conditions.add(shoot.Status.Conditions)
			constraints.add(shoot.Status.Constraints)
		}
	}
	conditions.collect(to, m.conditions)
	constraints.collect(to, m.constraints)
}

// changed counts what differs between two statuses of a shoot, among what care writes.
func (m *Metrics) changed(before, after *gardencorev1beta1.ShootStatus) {
	if m == nil {
		return
	}
	for _, lists := range [][2][]gardencorev1beta1.Condition{{before.Conditions, after.Conditions},
		{before.Constraints, after.Constraints}} {
		was := map[gardencorev1beta1.ConditionType]gardencorev1beta1.ConditionStatus{}
		for _, c := range lists[0] {
			was[c.Type] = c.Status
		}
		for _, c := range lists[1] {
			if is(c.Type, c.Status) && was[c.Type] != c.Status {
				m.changes.WithLabelValues(string(c.Type), string(c.Status)).Inc()
			}
		}
	}
}

// is reports whether the metrics count this type and status. Others may write more.
func is(kind gardencorev1beta1.ConditionType, status gardencorev1beta1.ConditionStatus) bool {
	return slices.Contains(slices.Concat(health.ConditionTypes(), health.ConstraintTypes()), kind) &&
		slices.Contains(statuses, status)
}

// tally of conditions by type and status, with a zero where there is none.
type tally map[gardencorev1beta1.ConditionType]map[gardencorev1beta1.ConditionStatus]int

func newTally(kinds []gardencorev1beta1.ConditionType) tally {
	t := tally{}
	for _, kind := range kinds {
		t[kind] = map[gardencorev1beta1.ConditionStatus]int{}
	}
	return t
}

func (t tally) add(conditions []gardencorev1beta1.Condition) {
	for _, c := range conditions {
		if ofKind := t[c.Type]; ofKind != nil {
			ofKind[c.Status]++
		}
	}
}

func (t tally) collect(to chan<- prometheus.Metric, desc *prometheus.Desc) {
	for kind, ofKind := range t {
		for _, status := range statuses {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(ofKind[status]), string(kind),
				string(status))
		}
	}
}
