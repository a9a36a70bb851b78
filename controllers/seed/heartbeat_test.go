package seed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// A heartbeat renews the Lease and makes the conditions true; what its operators have stopped is a condition as long as
// they do.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a", Generation: 3}}
	seed.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "Unknown"},
		{Type: "BackupBucketsReady", Status: "True"}}
	garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(seed).WithObjects(seed).Build()
	h := &Heartbeat{
		Garden: garden, Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}).Build(),
		Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0)), SeedName: "a", Version: "v1", Interval: time.Second,
	}
	for _, step := range []struct {
		stop string
		want map[string]string
	}{
		{"", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True"}},
		{"true", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True", "EmergencyStopShootReconciliations": "True"}},
		{"", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True"}},
	} {
		now := &gardencorev1beta1.Seed{}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		now.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": step.stop}
		if err := garden.Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if err := h.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, condition := range now.Status.Conditions {
			got[string(condition.Type)] = string(condition.Status)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("stop %q, conditions (-want +got):\n%s", step.stop, diff)
		}
		if now.Status.ObservedGeneration != now.Generation || now.Status.Gardener == nil ||
			now.Status.Gardener.Version != "v1" {
			t.Errorf("status is %+v", now.Status)
		}
	}
	lease := &coordinationv1.Lease{}
	if err := garden.Get(t.Context(), client.ObjectKey{Namespace: "gardener-system-seed-lease", Name: "a"},
		lease); err != nil {
		t.Fatal(err)
	}
	if *lease.Spec.HolderIdentity != "uid-a" || !lease.Spec.RenewTime.Time.Equal(time.Unix(1000, 0)) {
		t.Errorf("the Lease is %+v", lease.Spec)
	}
}
