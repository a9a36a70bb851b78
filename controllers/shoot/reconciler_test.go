package shoot

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// reasons remembers the reasons of events, in order.
type reasons []string

func (r *reasons) Event(_ *gardencorev1beta1.Shoot, _, reason, _ string) { *r = append(*r, reason) }

type noCleanup struct{}

func (noCleanup) Tasks(*controlplane.Operation) []flow.Task { return nil }

// A deletion that no retry helps waits for its owner; what failed before the deletion does not hold it up.
func TestADeletionThatHasFailedForGoodIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last    *gardencorev1beta1.LastOperation
		request string
		runs    bool
	}{
		"failed":                    {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "", false},
		"failed, and others' wish":  {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "rotate-ssh-keypair", false},
		"failed, and asked again":   {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Failed"}, "x;retry", true},
		"failed when it was healed": {&gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Failed"}, "", true},
		"still tried":               {&gardencorev1beta1.LastOperation{Type: "Delete", State: "Error"}, "", true},
		"nothing was done ever":     {nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{
				Namespace: "garden-p", Name: "alpha", UID: "u", Finalizers: []string{"gardener"}, DeletionTimestamp: ptr.To(metav1.Now()),
				Annotations: map[string]string{"gardener.cloud/operation": c.request},
			}}
			shoot.Spec.SeedName = ptr.To("a")
			shoot.Status.TechnicalID, shoot.Status.UID, shoot.Status.LastOperation = "shoot--p--alpha", "u", c.last
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot, seed).Build()
			happened := &reasons{}
			r := &Reconciler{
				Factory: &controlplane.Factory{
					Settings: controlplane.Settings{SeedName: "a", WaitInterval: time.Millisecond}, Clock: clock.RealClock{},
					Garden: garden, Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(namespace).Build(), Bell: &controlplane.Bell{},
				},
				Runner: &controlplane.Runner{Version: "v1", Events: happened, Periods: controlplane.Periods{Retry: time.Hour}}, Cleanup: noCleanup{},
			}
			// The flow itself finds no cloud profile, and ends with an error.
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if ran := slices.Contains(*happened, "Deleting"); ran != c.runs || (err != nil) != c.runs {
				t.Errorf("events %v, %v", *happened, err)
			}
		})
	}
}
