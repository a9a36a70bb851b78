package contract

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// How long an Extension is waited for is said where it is registered (docs/specification/extensions.md#spec-3-5).
func TestTheReconcileTimeoutOfARegistration(t *testing.T) {
	t.Parallel()
	onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, []client.Object{
		controlplanetest.Registration("slow", "", "", "", func(r *gardencorev1beta1.ControllerResource) {
			r.ReconcileTimeout = &metav1.Duration{Duration: time.Hour}
		}),
	}, interceptor.Funcs{})
	o := &Objects{Scope: onA}
	for name, want := range map[string]time.Duration{"slow": time.Hour, "certs": 3 * time.Minute} {
		e := controlplanetest.Certs()
		e.Spec.Type = name
		if waits, err := o.patience(t.Context(), e); err != nil || waits.Timeout != want {
			t.Errorf("%s is waited for %s, want %s: %v", name, waits.Timeout, want, err)
		}
	}
	if waits, err := o.patience(t.Context(), controlplanetest.Infrastructure()); err != nil ||
		waits.Timeout != 10*time.Minute {
		t.Errorf("an Infrastructure is waited for %s: %v", waits.Timeout, err)
	}
}
