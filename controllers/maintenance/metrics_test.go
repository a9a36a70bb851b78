package maintenance_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance"
	"github.com/transplant-sim/transplant/controllers/metricstest"
)

func TestMaintenancesAreCounted(t *testing.T) {
	t.Parallel()
	none := map[string]float64{
		"maintenance_runs_total unchanged": 0, "maintenance_runs_total succeeded": 0, "maintenance_runs_total failed": 0,
		"maintenance_changes_total kubernetes succeeded": 0, "maintenance_changes_total kubernetes failed": 0,
		"maintenance_changes_total image succeeded": 0, "maintenance_changes_total image failed": 0,
		"maintenance_changes_total credentials succeeded": 0, "maintenance_changes_total credentials failed": 0,
	}
	for name, c := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		refuse func([]string) bool
		want   map[string]float64
	}{
		"before its time": {nil, nil, nil},
		"updates": {asked, nil, map[string]float64{
			"maintenance_runs_total succeeded": 1, "maintenance_changes_total kubernetes succeeded": 1,
			"maintenance_changes_total image succeeded": 1,
		}},
		"nothing to do": {func(s *gardencorev1beta1.Shoot) {
			asked(s)
			s.Spec.Kubernetes.Version, s.Spec.Provider.Workers[0].Machine.Image.Version = "1.35.0", ptr.To("1.0.1")
		}, nil, map[string]float64{"maintenance_runs_total unchanged": 1}},
		"a part is refused": {asked, func(v []string) bool { return v[1] == "1.0.1" }, map[string]float64{
			"maintenance_runs_total failed": 1, "maintenance_changes_total kubernetes succeeded": 1,
			"maintenance_changes_total image failed": 1,
		}},
		"all is refused": {asked, func(v []string) bool {
			return v[0] != "1.33.1" || v[1] != "1.0.0"
		}, map[string]float64{"maintenance_runs_total failed": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			funcs := interceptor.Funcs{}
			if c.refuse != nil {
				funcs = refusing(c.refuse)
			}
			registry := prometheus.NewRegistry()
			k := newKeeper(newGarden(t, funcs, tended(c.change), offers()))
			var err error
			if k.Metrics, err = maintenance.NewMetrics(registry); err != nil {
				t.Fatal(err)
			}
			metricstest.Check(t, registry)
			k.look(t)
			want := maps.Clone(none)
			maps.Copy(want, c.want)
			if diff := cmp.Diff(want, counted(t, registry)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// counted is every counter, by its name and the values of its labels.
func counted(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			found[name] = m.GetCounter().GetValue()
		}
	}
	return found
}
