package validation_test

import (
	"strings"
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// status.seedName "outside" says that no gardenlet runs the control plane: none may take it for its own.
func TestSeed_NamedOutside_IsRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"outside": true, "outsider": false} {
		seed := &gardencorev1beta1.Seed{}
		seed.Name = name
		if got := strings.Contains(validation.Seed(seed).ToAggregate().Error(), "runs outside any seed"); got != want {
			t.Errorf("%s: refused %t", name, got)
		}
	}
}
