package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func TestControlPlane_PhaseOfTheNamespace(t *testing.T) {
	t.Parallel()
	const alpha = "shoot--p--alpha"
	object := func(name string, labels map[string]string, managers ...string) client.Object {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: alpha, Name: name, Labels: labels}}
		for _, manager := range managers {
			made.ManagedFields = append(made.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager})
		}
		return made
	}
	items := []timeline.Item{
		{Class: "configmaps", Namespace: alpha, Name: "both", Managers: []string{"acme", "gardenlet"}},
		{Class: "configmaps", Namespace: alpha, Name: "moves", Managers: []string{"acme"}, Persisted: true},
		{Class: "configmaps", Namespace: alpha, Name: "unknown"},
	}
	for name, c := range map[string]struct {
		change func(*testing.T, client.Client)
		phase  inventory.Phase
		want   []timeline.Item
	}{
		"There": {change: func(*testing.T, client.Client) {}, phase: inventory.There, want: items},
		"Going": {change: func(t *testing.T, seed client.Client) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: alpha}}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Terminating"}}`))
			if err := seed.Patch(t.Context(), namespace, patch); err != nil {
				t.Fatal(err)
			}
		}, phase: inventory.Going, want: []timeline.Item{}},
		"Gone": {change: func(t *testing.T, seed client.Client) {
			if err := seed.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: alpha}}); err != nil {
				t.Fatal(err)
			}
		}, phase: inventory.Gone, want: []timeline.Item{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, clients, _ := worldtest.Ready(t, 0)
			seed, err := clients.Cluster("a")
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range []client.Object{
				object("both", nil, "gardenlet", "acme", "gardenlet"), object("unknown", nil),
				object("moves", map[string]string{"persist": "true"}, "acme"),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "elsewhere"}},
			} {
				if err := seed.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			c.change(t, seed)
			config, err := w.Connect("a")
			if err != nil {
				t.Fatal(err)
			}
			seen, phase, err := inventory.ControlPlane(t.Context(), config, "alpha", alpha)
			if err != nil || phase != c.phase {
				t.Errorf("phase %d, %v; want %d", phase, err, c.phase)
			}
			for i := range seen.Items {
				seen.Items[i].UID = ""
			}
			want := timeline.InventorySeen{When: timeline.Left, Shoot: "alpha", Items: c.want}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}
