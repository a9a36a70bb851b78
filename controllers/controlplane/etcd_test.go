package controlplane

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// The pod of an epoch that is over is never ready again. In the order of their readiness, which is the default, the
// StatefulSet's controller would wait for it before it made that of the next epoch, and nobody could abort a migration (O11).
func TestAnEtcdThatIsNeverReadyDoesNotStandInTheWayOfTheNextEpoch(t *testing.T) {
	t.Parallel()
	o := newOperation(t, gardencorev1beta1.LastOperationTypeRestore, interceptor.Funcs{})
	o.Epoch, o.SeedObject = 4, &gardencorev1beta1.Seed{}
	if err := o.DeployEtcd(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	set := &appsv1.StatefulSet{}
	if err := o.Seed.Get(t.Context(), o.key("etcd-main"), set); err != nil {
		t.Fatal(err)
	}
	if set.Spec.PodManagementPolicy != "Parallel" {
		t.Errorf("its pods are managed by the policy %q", set.Spec.PodManagementPolicy)
	}
}
