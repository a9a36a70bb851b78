package controlplane

import (
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// begun is a run of seed a that has begun to reconcile a shoot.
func begun(t *testing.T) *Operation {
	t.Helper()
	o := New(controlplanetest.Bound(t))
	if err := o.Status.Begin(t.Context(), gardencorev1beta1.LastOperationTypeReconcile, "begins", "v1"); err != nil {
		t.Fatal(err)
	}
	return o
}

func inGarden(t *testing.T, o *Operation) *gardencorev1beta1.Shoot {
	t.Helper()
	return controlplanetest.InGarden(t, o.Scope)
}
