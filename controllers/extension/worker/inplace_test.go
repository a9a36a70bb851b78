package worker

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// Of the many events of machines only those concern a Worker whose pools are updated in place.
func TestPublishing_PoolsThatRoll_AreNotWoken(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := extensionsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	event := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pool-z1"}}
	for strategy, woken := range map[*gardencorev1beta1.MachineUpdateStrategy]int{
		nil: 0, ptr.To(gardencorev1beta1.AutoInPlaceUpdate): 1,
	} {
		worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"},
			Spec: extensionsv1alpha1.WorkerSpec{Pools: []extensionsv1alpha1.WorkerPool{{UpdateStrategy: strategy}}}}
		known := fake.NewClientBuilder().WithScheme(scheme).WithObjects(worker).Build()
		if got := publishing(known)(t.Context(), event); len(got) != woken {
			t.Errorf("strategy %v wakes %v", ptr.Deref(strategy, "none"), got)
		}
	}
}
