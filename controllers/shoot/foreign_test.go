package shoot

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// A shoot that another seed has says so, once for each owner.
func TestReportForeign_OwnerIsElsewhere_IsShownOnce(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&gardencorev1beta1.Shoot{}).WithObjects(
		settled(changed)).Build()
	clock := testingclock.NewFakeClock(noon)
	look := func(epoch int64) *gardencorev1beta1.Shoot {
		o := controlplane.New(&scope.Scope{Garden: garden, Clock: clock, Shoot: &gardencorev1beta1.Shoot{}})
		if err := garden.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, o.Shoot); err != nil {
			t.Fatal(err)
		}
		if err := reportForeign(t.Context(), o, &owner.ForeignError{Seed: "b", Epoch: epoch}); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Minute)
		return o.Shoot
	}
	first := look(2)
	if last := first.Status.LastOperation; last.Type != "Reconcile" || last.State != "Error" ||
		len(first.Status.LastErrors) != 1 || first.Status.LastErrors[0].Description != last.Description {
		t.Errorf("the shoot shows %+v and %+v", last, first.Status.LastErrors)
	}
	if second := look(2); second.ResourceVersion != first.ResourceVersion {
		t.Error("the same is reported twice: each look would wake the next")
	}
	if third := look(3); third.ResourceVersion == first.ResourceVersion {
		t.Error("another epoch is not reported")
	}
}
