package run

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// Codes of all errors count that one wraps, each once.
func TestCodes(t *testing.T) {
	t.Parallel()
	coded := func(cause error, codes ...gardencorev1beta1.ErrorCode) error {
		return &errorcodes.Error{Message: "m", Codes: codes, Cause: cause}
	}
	for name, c := range map[string]struct {
		err  error
		want []gardencorev1beta1.ErrorCode
	}{
		"none":    {errors.New("x"), nil},
		"nothing": {nil, nil},
		"wrapped": {fmt.Errorf("y: %w", coded(nil, "A")), []gardencorev1beta1.ErrorCode{"A"}},
		"cause":   {coded(fmt.Errorf("y: %w", coded(nil, "B", "A")), "A"), []gardencorev1beta1.ErrorCode{"A", "B"}},
		"joined": {errors.Join(errors.New("x"), coded(nil, "B"), coded(nil, "A", "B")),
			[]gardencorev1beta1.ErrorCode{"B", "A"}},
		"late":    {&scope.TimeoutError{Last: errors.Join(coded(nil), coded(nil, "A"))}, []gardencorev1beta1.ErrorCode{"A"}},
		"lasting": {scope.Permanent(coded(nil, "A")), []gardencorev1beta1.ErrorCode{"A"}},
	} {
		if diff := cmp.Diff(c.want, errorcodes.Of(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
