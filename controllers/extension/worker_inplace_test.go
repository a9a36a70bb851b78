package extension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
	"github.com/transplant-sim/transplant/controllers/extension/worker"
)

// The Worker says what all machines of a pool are at, in every zone; as long as one is behind, it says what it said
// before.
func TestWorkerStatus_InPlaceUpdate_NamesWhatAllZonesHave(t *testing.T) {
	t.Parallel()
	b := newBench(t, "a", cloudtest.NewLandscape(t), 1)
	manual := ptr.To(gardencorev1beta1.ManualInPlaceUpdate)
	at := func(version string) {
		b.setShoot(func(s *gardencorev1beta1.Shoot) {
			s.Spec.Kubernetes.Version = version
			s.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool", UpdateStrategy: manual}}
		})
	}
	at("1.35.6")
	o := workerObject()
	o.Spec.Pools[0].UpdateStrategy = manual
	b.create(o)
	b.annotate(o, "reconcile")
	b.settle(o)
	reported := func() string {
		b.get(o)
		if o.Status.InPlaceUpdates == nil {
			return ""
		}
		return o.Status.InPlaceUpdates.WorkerPoolToHashMap["pool"]
	}
	first := reported()
	if first == "" {
		t.Fatal("nothing is said of a pool whose machines were made just now")
	}
	b.updatedIn(0)
	at("1.36.3")
	b.annotate(o, "reconcile")
	if result, err := b.once(o); err != nil || result.RequeueAfter != 0 || last(o) == "" {
		t.Fatalf("what waits for its users holds the Worker up: %v, %v", result, err)
	}
	for zones, news := range []bool{false, false, true} {
		b.updatedIn(zones)
		if _, err := (&worker.InPlaceProgress{Provider: b.provider.worker()}).Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
		if now := reported(); now == "" || (now != first) != news {
			t.Errorf("with %d of 2 zones updated, it says %q, before %q", zones, now, first)
		}
	}
	// After a move nothing was said yet; the last node is updated after it.
	for zones, done := range map[int]bool{1: false, 2: true} {
		b.changeStatus(o, func() { o.Status.InPlaceUpdates = nil })
		b.updatedIn(zones)
		if _, err := (&worker.InPlaceProgress{Provider: b.provider.worker()}).Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
		if (reported() != "") != done {
			t.Errorf("after a move, with %d of 2 zones updated, it says %q", zones, reported())
		}
	}
	// Who serves a request may have looked before the last node was updated.
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	look := func() bool {
		result, err := (&worker.InPlaceProgress{Provider: b.provider.worker()}).Reconcile(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter > 0
	}
	if look() {
		t.Error("a Worker at rest is looked at again without a reason")
	}
	b.annotate(o, "reconcile")
	if !look() {
		t.Error("a Worker with a request is not looked at again")
	}
	b.change(o, func() { o.Spec.Pools[0].UpdateStrategy = nil })
	if look() {
		t.Error("a Worker whose pools roll is looked at again")
	}
	at("1.36.3")
	b.annotate(o, "reconcile")
	b.settle(o)
	var nothing *extensionsv1alpha1.InPlaceUpdatesWorkerStatus
	b.get(o)
	if diff := cmp.Diff(nothing, o.Status.InPlaceUpdates); diff != "" {
		t.Errorf("of a pool that rolls it says (-want +got):\n%s", diff)
	}
}

// updatedIn says of so many MachineDeployments that their machines are updated, of the others that none is.
func (b *bench) updatedIn(zones int) {
	b.t.Helper()
	all := &machinev1alpha1.MachineDeploymentList{}
	if err := b.base.List(b.t.Context(), all); err != nil {
		b.t.Fatal(err)
	}
	for i := range all.Items {
		d := &all.Items[i]
		before := d.DeepCopy()
		d.Status.UpdatedReplicas = 0
		if i < zones {
			d.Status.UpdatedReplicas = d.Spec.Replicas
		}
		if err := b.base.Status().Patch(b.t.Context(), d, client.MergeFrom(before)); err != nil {
			b.t.Fatal(err)
		}
	}
}
