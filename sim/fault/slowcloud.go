package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// SlowCloud makes calls to the cloud wait.
type SlowCloud struct {
	Calls `json:",inline"`
	// Delay of each call.
	Delay metav1.Duration `json:"delay"`
}

var _ Fault = &SlowCloud{}

func (s *SlowCloud) harm() cloud.Fault {
	return s.fault(cloud.Effect{Delay: &s.Delay})
}

// Name is "slowCloud(calls)".
func (s *SlowCloud) Name() string { return s.name("slowCloud") }

// Check finds unknown callers, kinds and verbs, and no delay.
func (s *SlowCloud) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := s.check(path, on)
	if s.Delay.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("delay"), s.Delay.Duration.String(), "must be positive"))
	}
	return errs
}

// Inject slows the cloud down.
func (s *SlowCloud) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, s.harm())
}
