package care

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/metricstest"
)

// how is a shoot on a seed whose conditions and constraints are "Type Status".
func how(name, seed string, conditions, constraints []string) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name}}
	shoot.Status.SeedName = ptr.To(seed)
	shoot.Status.Conditions, shoot.Status.Constraints = all(conditions), all(constraints)
	return shoot
}

func all(texts []string) (conditions []gardencorev1beta1.Condition) {
	for _, text := range texts {
		kind, status, _ := strings.Cut(text, " ")
		conditions = append(conditions, gardencorev1beta1.Condition{Type: gardencorev1beta1.ConditionType(kind),
			Status: gardencorev1beta1.ConditionStatus(status)})
	}
	return conditions
}

func newTestMetrics(t *testing.T, shoots client.Reader) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, shoots, "a")
	must(t, err)
	return m, registry
}

func TestShootsAreCountedByCondition(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	must(t, gardencorev1beta1.AddToScheme(scheme))
	shoots := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		how("one", "a", []string{"EveryNodeReady False", "ControlPlaneHealthy True", "Foreign False"},
			[]string{"HibernationPossible True"}),
		how("two", "a", []string{"EveryNodeReady False", "ControlPlaneHealthy Progressing"},
			[]string{"HibernationPossible False", "EvacuationPossible False"}),
		how("elsewhere", "b", []string{"EveryNodeReady False"}, nil),
	).Build()
	_, registry := newTestMetrics(t, shoots)
	metricstest.Check(t, registry)
	got := values(t, registry)
	for series, want := range map[string]float64{
		"care_shoot_conditions EveryNodeReady False": 2, "care_shoot_conditions EveryNodeReady True": 0,
		"care_shoot_conditions ControlPlaneHealthy True": 1, "care_shoot_conditions ControlPlaneHealthy Progressing": 1,
		"care_shoot_constraints HibernationPossible True": 1, "care_shoot_constraints HibernationPossible False": 1,
	} {
		if n, there := got[series]; !there || n != want {
			t.Errorf("%s is %v (%t), want %v", series, n, there, want)
		}
	}
	for series := range got {
		if strings.Contains(series, "Foreign") || strings.Contains(series, "EvacuationPossible") {
			t.Errorf("%s is not care's", series)
		}
	}
}

// values of all series with a type and a status.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			found[fmt.Sprintf("%s %s %s", family.GetName(), labels["type"], labels["status"])] = m.GetGauge().GetValue() +
				m.GetCounter().GetValue()
		}
	}
	return found
}

// unstarted is a cache that has not started.
type unstarted struct{ client.Reader }

func (unstarted) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return &cache.ErrCacheNotStarted{}
}

// What cannot be counted is left out: a zero would be wrong.
func TestAnUnstartedCacheIsNotCounted(t *testing.T) {
	t.Parallel()
	_, registry := newTestMetrics(t, unstarted{})
	if n, err := testutil.GatherAndCount(registry, "care_shoot_conditions", "care_shoot_constraints"); err != nil ||
		n != 0 {
		t.Errorf("%d series, %v", n, err)
	}
	if n, err := testutil.GatherAndCount(registry, "care_condition_changes_total"); err != nil ||
		n != 4*(len(health.ConditionTypes())+len(health.ConstraintTypes())) {
		t.Errorf("%d series of changes, %v", n, err)
	}
}

func TestChangesAreCounted(t *testing.T) {
	t.Parallel()
	m, _ := newTestMetrics(t, unstarted{})
	before := how("one", "a", []string{"EveryNodeReady True", "ControlPlaneHealthy True"}, nil)
	after := how("one", "a", []string{"EveryNodeReady Progressing", "ControlPlaneHealthy True", "Foreign True",
		"APIServerAvailable Odd"}, []string{"HibernationPossible False"})
	m.changed(&before.Status, &after.Status)
	for kind, want := range map[[2]string]float64{
		{"EveryNodeReady", "Progressing"}: 1, {"ControlPlaneHealthy", "True"}: 0, {"HibernationPossible", "False"}: 1,
	} {
		if n := testutil.ToFloat64(m.changes.WithLabelValues(kind[0], kind[1])); n != want {
			t.Errorf("%v counts %v, want %v", kind, n, want)
		}
	}
	if n := testutil.CollectAndCount(m.changes); n != 4*(len(health.ConditionTypes())+len(health.ConstraintTypes())) {
		t.Errorf("what others write has made %d series", n)
	}
	(*Metrics)(nil).changed(&before.Status, &after.Status)
}

// testMetrics: what is written is counted, and who looks again and writes nothing counts nothing.
func (f *fixture) testMetrics(t *testing.T) {
	m, registry := newTestMetrics(t, f.Client)
	f.reconciler.Metrics = m
	defer func() { f.reconciler.Metrics = nil }()
	f.look(t)
	sum := func() (n float64) {
		for series, value := range values(t, registry) {
			if strings.HasPrefix(series, "care_condition_changes_total ") {
				n += value
			}
		}
		return n
	}
	before := sum()
	f.healthz.Store(500)
	f.look(t)
	f.healthz.Store(0)
	if n := testutil.ToFloat64(m.changes.WithLabelValues("APIServerAvailable", "Progressing")); n != 1 || sum() == before {
		t.Errorf("%v changes of the API server's condition, %v in all after %v", n, sum(), before)
	}
	f.look(t)
	before = sum()
	f.look(t)
	if sum() != before {
		t.Errorf("%v changes of what does not change", sum()-before)
	}
	if got := values(t, registry)["care_shoot_conditions APIServerAvailable True"]; got != 1 {
		t.Errorf("%v shoots have an API server", got)
	}
}
