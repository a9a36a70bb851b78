package migration

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
)

// While a flow of this gardenlet creates, moves or deletes the shoot, the state is not the sync's to save, and every
// change in the seed would make it ask why. When the flow has ended it asks again, whether or not a watch wakes it.
func TestStateSync_WhileAFlowWorks_AsksNobody(t *testing.T) {
	t.Parallel()
	for flow, asks := range map[gardencorev1beta1.LastOperationType]bool{
		"Create": false, "Restore": false, "Migrate": false, "Delete": false, "Reconcile": true,
	} {
		shoot, r := leaving(t)
		key, reads := client.ObjectKeyFromObject(shoot), 0
		r.Factory.Garden = interceptor.NewClient(r.Factory.Garden.(client.WithWatch), interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, o, options...)
			},
		})
		sync := &StateSync{Factory: r.Factory, AtWork: &run.AtWork{}, Period: time.Hour}
		end := sync.AtWork.Begin(key, flow)
		for range 3 {
			result, err := sync.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if err != nil || !asks && result.RequeueAfter != time.Second {
				t.Errorf("%s: again after %v, %v", flow, result.RequeueAfter, err)
			}
		}
		if (reads > 0) != asks {
			t.Errorf("%s: %d reads, want some: %t", flow, reads, asks)
		}
		end()
		reads = 0
		if _, err := sync.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil || reads != 1 {
			t.Errorf("after %s: %d reads, want one of the shoot, which is leaving; %v", flow, reads, err)
		}
	}
}

// What changes in the namespace of a shoot that lives elsewhere, as when its source cleans up, is nothing to save. What
// the cache does not know is asked for.
func TestStateSync_IsWokenForShootsOfItsSeed(t *testing.T) {
	t.Parallel()
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--s",
		Annotations: map[string]string{"transplant.dev/shoot": "garden-p/s"}}}
	object := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Namespace: home.Name, Name: "s"}}
	for name, c := range map[string]struct {
		shoot *gardencorev1beta1.Shoot
		home  bool
		woken int
	}{
		"lives here":            {shootOn("b", "b", "Reconcile", "Succeeded"), true, 1},
		"is on its way":         {shootOn("b", "a", "Migrate", "Processing"), true, 0},
		"lives elsewhere":       {shootOn("a", "a", "Reconcile", "Succeeded"), true, 0},
		"not in the cache":      {nil, true, 1},
		"no known namespace":    {shootOn("b", "b", "Reconcile", "Succeeded"), false, 0},
		"restored here, begins": {shootOn("b", "", "Restore", "Processing"), true, 1},
	} {
		garden, seed := fake.NewClientBuilder().WithScheme(gardenScheme(t)), fake.NewClientBuilder()
		if c.shoot != nil {
			c.shoot.Namespace, c.shoot.Name = "garden-p", "s"
			garden = garden.WithObjects(c.shoot)
		}
		if c.home {
			seed = seed.WithObjects(home.DeepCopy())
		}
		sync := &StateSync{Factory: &controlplane.Factory{}}
		sync.Factory.SeedName = "b"
		got := sync.shootOf(t.Context(), garden.Build(), seed.Build(), object)
		if len(got) != c.woken || len(got) > 0 && got[0].Name != "s" {
			t.Errorf("%s: woken for %v, want %d", name, got, c.woken)
		}
	}
}
