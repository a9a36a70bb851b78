package shoot

import (
	"testing"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
)

// A shoot that another seed has says so, once for each owner.
func TestReportForeign_OwnerIsElsewhere_IsShownOnce(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	look := func(epoch int64) *gardencorev1beta1.Shoot {
		o := g.read(t)
		if err := reportForeign(t.Context(), o, &owner.ForeignError{Seed: "b", Epoch: epoch}); err != nil {
			t.Fatal(err)
		}
		g.clock.Step(time.Minute)
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
