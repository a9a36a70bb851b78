package node

import (
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// When a seed returns, its resource managers start before the API servers of their shoots answer.
func TestAddToManager_ShootDoesNotAnswer_Succeeds(t *testing.T) {
	t.Parallel()
	nobody := &rest.Config{Host: "https://127.0.0.1:1"}
	mgr, err := ctrl.NewManager(nobody, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{Backoff: DefaultBackoff}).AddToManager(mgr, nobody); err != nil {
		t.Errorf("nobody answers: %v", err)
	}
}
