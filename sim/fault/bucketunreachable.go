package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// BucketUnreachable breaks the connection of every call to the buckets before it arrives.
type BucketUnreachable struct {
	Callers `json:",inline"`
}

var _ Fault = &BucketUnreachable{}

func (b *BucketUnreachable) harm() cloud.Fault {
	return b.calls().fault(cloud.Effect{Drop: cloud.DropRequest})
}

// Name is "bucketUnreachable(calls)".
func (b *BucketUnreachable) Name() string { return b.name("bucketUnreachable") }

// Check finds unknown callers.
func (b *BucketUnreachable) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return b.calls().check(path, on)
}

// Inject makes the buckets unreachable.
func (b *BucketUnreachable) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, b.harm())
}
