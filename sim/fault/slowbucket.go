package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// SlowBucket lets what is read from and written to buckets flow no faster.
type SlowBucket struct {
	Callers `json:",inline"`
	// BytesPerSecond of each call, such as 64Ki.
	BytesPerSecond resource.Quantity `json:"bytesPerSecond"`
}

var _ Fault = &SlowBucket{}

func (s *SlowBucket) harm() cloud.Fault {
	return s.calls().fault(cloud.Effect{BytesPerSecond: s.BytesPerSecond.Value()})
}

// Name is "slowBucket(calls)".
func (s *SlowBucket) Name() string { return s.name("slowBucket") }

// Check finds unknown callers and no speed.
func (s *SlowBucket) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := s.calls().check(path, on)
	if s.BytesPerSecond.Value() < 1 {
		errs = append(errs, field.Invalid(path.Child("bytesPerSecond"), s.BytesPerSecond.String(), "must be at least 1"))
	}
	return errs
}

// Inject slows the buckets down.
func (s *SlowBucket) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, s.harm())
}
