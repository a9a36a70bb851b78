package shoot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// A pool that users update in place is taken off the status when the Worker says so, by its seed alone and not while a
// flow runs.
func TestInPlaceUpdates(t *testing.T) {
	t.Parallel()
	pools := func(names ...string) *gardencorev1beta1.InPlaceUpdatesStatus {
		if names == nil {
			return nil
		}
		return &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &gardencorev1beta1.PendingWorkerUpdates{
			ManualInPlaceUpdate: names}}
	}
	for name, c := range map[string]struct {
		state   gardencorev1beta1.LastOperationState
		seed    string
		updated []string // pools that the Worker says are updated; it says of the others that they are not
		want    *gardencorev1beta1.InPlaceUpdatesStatus
	}{
		"none is updated":        {"Succeeded", "a", nil, pools("one", "two")},
		"one is updated":         {"Succeeded", "a", []string{"one"}, pools("two")},
		"both are":               {"Succeeded", "a", []string{"one", "two"}, nil},
		"although a flow failed": {"Error", "a", []string{"one"}, pools("two")},
		"a flow runs":            {"Processing", "a", []string{"one"}, pools("one", "two")},
		"another seed's shoot":   {"Succeeded", "b", []string{"one"}, pools("one", "two")},
		"another seed's flow":    {"Processing", "b", []string{"one"}, pools("one", "two")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{gardencorev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha"}}
			shoot.Spec.Kubernetes.Version = "1.36.3"
			said := map[string]string{"one": "before", "two": "before"}
			for _, pool := range []string{"one", "two"} {
				shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers,
					gardencorev1beta1.Worker{Name: pool, UpdateStrategy: ptr.To(gardencorev1beta1.ManualInPlaceUpdate)})
			}
			for i, pool := range []string{"one", "two"} {
				hash, err := rollout.InPlaceFingerprint(shoot, &shoot.Spec.Provider.Workers[i])
				if err != nil {
					t.Fatal(err)
				}
				for _, updated := range c.updated {
					if updated == pool {
						said[pool] = hash
					}
				}
			}
			shoot.Status = gardencorev1beta1.ShootStatus{
				SeedName: ptr.To(c.seed), InPlaceUpdates: pools("one", "two"),
				LastOperation: &gardencorev1beta1.LastOperation{Type: "Reconcile", State: c.state},
			}
			worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: "alpha"}}
			worker.Status.InPlaceUpdates = &extensionsv1alpha1.InPlaceUpdatesWorkerStatus{WorkerPoolToHashMap: said}
			cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shoot--p--alpha"}}
			cluster.Spec.Shoot.Raw = []byte(`{"metadata":{"namespace":"garden-p","name":"alpha"}}`)
			r := &InPlaceUpdates{
				Garden:   fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(shoot).WithObjects(shoot).Build(),
				Seed:     fake.NewClientBuilder().WithScheme(scheme).WithObjects(worker, cluster).Build(),
				SeedName: "a",
			}
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(worker)})
			if err != nil {
				t.Fatal(err)
			}
			// No event reports the end of a flow, which may have looked at the Worker before it said so.
			if again := result.RequeueAfter > 0; again != (c.state == "Processing" && c.seed == "a") {
				t.Errorf("it is looked at again: %t", again)
			}
			after := &gardencorev1beta1.Shoot{}
			if err := r.Garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), after); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, after.Status.InPlaceUpdates); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Workers change often; those that say nothing of updates in place wake nobody.
func TestInPlaceUpdates_AreWokenByWorkersThatSayWhereTheyAre(t *testing.T) {
	t.Parallel()
	for want, update := range []*extensionsv1alpha1.InPlaceUpdatesWorkerStatus{nil, {}} {
		worker := &extensionsv1alpha1.Worker{}
		worker.Status.InPlaceUpdates = update
		if got := wakes(t.Context(), worker); len(got) != want {
			t.Errorf("woken %d times, want %d", len(got), want)
		}
	}
}
