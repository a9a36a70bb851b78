package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Bandwidth limits the bytes that a link lets pass.
type Bandwidth struct {
	Link `json:",inline"`
	// BytesPerSecond that may pass in each direction, such as 64Ki.
	BytesPerSecond resource.Quantity `json:"bytesPerSecond"`
}

var _ Fault = &Bandwidth{}

func (b *Bandwidth) harm() link.Fault {
	return wire.Bandwidth{Direction: b.Direction, BytesPerSecond: b.BytesPerSecond.Value()}
}

// Name is "bandwidth(actor,target)".
func (b *Bandwidth) Name() string { return b.name("bandwidth") }

// Check finds unknown links and impossible limits.
func (b *Bandwidth) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return b.check(path, on, b.harm())
}

// Inject narrows the link.
func (b *Bandwidth) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return b.inject(ctx, w, b.harm())
}
