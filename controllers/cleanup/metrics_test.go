package cleanup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func newTestMetrics(t *testing.T) *Metrics {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	must(t, err)
	metricstest.Check(t, registry)
	return m
}

// Left-overs are those of all shoots; each counts until a look finds it gone, or its step has ended without saying so.
func TestLeftOversAreCounted(t *testing.T) {
	t.Parallel()
	m := newTestMetrics(t)
	left := func(want float64) {
		t.Helper()
		if n := testutil.ToFloat64(m.remaining.WithLabelValues("kubernetes resources")); n != want {
			t.Errorf("%v objects are left, want %v", n, want)
		}
	}
	remaining := &Remaining{Step: KubernetesResources}
	m.looked("alpha", KubernetesResources, 3)
	m.looked("beta", KubernetesResources, 2)
	left(5)
	m.looked("alpha", KubernetesResources, 1)
	left(3)
	m.ended("alpha", KubernetesResources, time.Second, remaining) // it is tried again, and the object is still there
	left(3)
	m.ended("beta", KubernetesResources, time.Second, errors.New("away"))
	left(1)
	m.ended("alpha", KubernetesResources, time.Second, nil)
	left(0)
	if len(m.left) > 0 {
		t.Errorf("%v is remembered of shoots that are gone", m.left)
	}
	for result, want := range map[string]float64{"done": 1, "held": 1, "failed": 1} {
		if n := testutil.ToFloat64(m.steps.WithLabelValues("kubernetes resources", result)); n != want {
			t.Errorf("%v steps are %s, want %v", n, result, want)
		}
	}
}

// A Service with a finalizer holds the step up until its time is over, and loses the finalizer when it may.
func aCleanUpIsCounted(t *testing.T, b *bench) {
	b.cleaner.Metrics, b.cleaner.Timeout = newTestMetrics(t), 300*time.Millisecond
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "balancer",
		Finalizers: []string{"stuck.test/always"}}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	must(t, b.Create(t.Context(), service))
	step := b.cleaner.task(b.operation, KubernetesResources)
	counts := func(want map[prometheus.Collector]float64) {
		t.Helper()
		for c, n := range want {
			if got := testutil.ToFloat64(c); got != n {
				t.Errorf("%s: %v, want %v", describe(c), got, n)
			}
		}
	}
	m, name := b.cleaner.Metrics, KubernetesResources.String()
	if err := step(t.Context()); err == nil || !strings.Contains(err.Error(), "Service default/balancer") {
		t.Fatalf("the step ends with %v", err)
	}
	counts(map[prometheus.Collector]float64{
		m.steps.WithLabelValues(name, "held"): 1, m.remaining.WithLabelValues(name): 1, m.finalized.WithLabelValues(name): 0,
	})
	b.annotate(t, map[string]string{
		"shoot.gardener.cloud/cleanup-kubernetes-resources-finalize-grace-period-seconds": "0"})
	b.cleaner.Timeout = time.Minute
	must(t, step(t.Context()))
	counts(map[prometheus.Collector]float64{
		m.steps.WithLabelValues(name, "held"): 1, m.steps.WithLabelValues(name, "done"): 1,
		m.remaining.WithLabelValues(name): 0, m.finalized.WithLabelValues(name): 1,
	})
	if n := testutil.CollectAndCount(m.durations); n != len(Steps()) {
		t.Errorf("%d histograms, want one for each step", n)
	}
}

func describe(c prometheus.Collector) string {
	all := make(chan *prometheus.Desc, 1)
	c.Describe(all)
	return (<-all).String()
}
