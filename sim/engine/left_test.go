package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

// What is in the namespace counts only while it is as the source has left it. The small world has the shoot on seed a.
func TestControlPlane_HandOver_CountsWhatTheSourceLeft(t *testing.T) {
	t.Parallel()
	const id, operation = "shoot--p--alpha", `{"status":{"lastOperation":{"type":"TYPE","state":"STATE"}}}`
	there := timeline.InventorySeen{When: timeline.Left, Shoot: "alpha", Items: []timeline.Item{
		{Class: "configmaps", Namespace: id, Name: "acme", Managers: []string{"acme"}},
	}}
	empty := timeline.InventorySeen{When: timeline.Left, Shoot: "alpha", Items: []timeline.Item{}}
	late := empty
	late.Unreadable = []string{"namespace " + id + ": nobody looked into it in time"}
	for name, c := range map[string]struct {
		source          string
		operation       [2]string // type and state
		gone, shootGone bool
		want            timeline.InventorySeen
	}{
		"There":                     {source: "b", operation: [2]string{"Migrate", "Succeeded"}, want: there},
		"ThereAndBoundBack":         {source: "a", operation: [2]string{"Migrate", "Succeeded"}, want: late},
		"GoneBeforeTheRestore":      {source: "b", operation: [2]string{"Migrate", "Succeeded"}, gone: true, want: empty},
		"GoneDuringTheRestore":      {source: "b", operation: [2]string{"Restore", "Processing"}, gone: true, want: empty},
		"GoneAfterTheRestore":       {source: "b", operation: [2]string{"Restore", "Succeeded"}, gone: true, want: late},
		"GoneWithTheDeletedShoot":   {source: "b", gone: true, shootGone: true, want: late},
		"ThereAndTheShootIsDeleted": {source: "b", shootGone: true, want: late},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldtest.New(t, "a", "b")
			clients, garden, shoot := worldtest.SetUp(t, w, 0)
			o := handOvers{&scope{Options: Options{World: w, Clock: clock.RealClock{}}, clients: clients}}
			o.Patience.fill()
			if err := poll(t.Context(), o.Clock, "the shoot", func(ctx context.Context) (bool, error) {
				return world.Observe(ctx, w, clients, world.Query{Shoots: []string{"alpha"}}).Shoots["alpha"].Healthy, nil
			}); err != nil {
				t.Fatal(err)
			}
			seed, err := clients.Cluster(c.source)
			if err != nil {
				t.Fatal(err)
			}
			if !c.gone {
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id}}
				acme := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: id, Name: "acme", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "acme"}},
				}}
				for _, object := range []client.Object{namespace, acme} {
					if err := client.IgnoreAlreadyExists(seed.Create(t.Context(), object)); err != nil {
						t.Fatal(err)
					}
				}
			}
			switch {
			case c.shootGone:
				err = garden.Delete(t.Context(), shoot)
			default:
				text := strings.NewReplacer("TYPE", c.operation[0], "STATE", c.operation[1]).Replace(operation)
				err = garden.Status().Patch(t.Context(), shoot, client.RawPatch("application/merge-patch+json", []byte(text)))
			}
			if err != nil {
				t.Fatal(err)
			}
			seen, err := o.controlPlane(t.Context(), handOver{shoot: "alpha", namespace: id, source: c.source})
			if err != nil {
				t.Fatal(err)
			}
			for i := range seen.Items {
				seen.Items[i].UID = ""
			}
			if diff := cmp.Diff(c.want, *seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
		})
	}
}
