package migration

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What is remembered of a shoot that was refused goes with the shoot.
func TestForcedRestore_RefusedShootIsDeleted_IsForgotten(t *testing.T) {
	t.Parallel()
	shoot := forced(stranded("stateless", "b", "a", "Reconcile", "Succeeded"))
	garden := newGarden(t, "Unknown", shoot)
	r := newForcedRestore(garden)
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}
	if _, err := r.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if r.Refused.Known(t.Context(), shoot, r.Clock.Now()) == nil {
		t.Fatal("the shoot was not refused")
	}
	if err := garden.Delete(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if known := r.Refused.Known(t.Context(), shoot, r.Clock.Now()); known != nil {
		t.Errorf("still refused: %v", known)
	}
}
