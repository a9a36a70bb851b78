package lifecycle

import (
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestStuck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state, request string
		generation     int64
		want           bool
	}{
		"failed":                           {"Failed", "", 1, true},
		"failed and changed":               {"Failed", "", 2, false},
		"still tried":                      {"Error", "", 1, false},
		"asked to retry":                   {"Failed", "retry", 1, false},
		"asked to retry, among others":     {"Failed", "rotate-ssh-keypair; retry", 1, false},
		"asked for something else":         {"Failed", "rotate-ssh-keypair", 1, true},
		"asked to reconcile":               {"Failed", "reconcile", 1, true},
		"asked to retry after maintenance": {"Failed", "maintain;retry", 1, true},
	} {
		shoot := &gardencorev1beta1.Shoot{}
		shoot.Generation, shoot.Status.ObservedGeneration = c.generation, 1
		shoot.Annotations = map[string]string{"gardener.cloud/operation": c.request}
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore",
			State: gardencorev1beta1.LastOperationState(c.state)}
		if got := Stuck(shoot); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
