package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Cut swallows all bytes of a link, open watches included, until it is healed.
type Cut struct {
	Link `json:",inline"`
	// Refuse new connections instead of leaving them without an answer.
	Refuse bool `json:"refuse,omitempty"`
}

var _ Fault = &Cut{}

func (c *Cut) harm() link.Fault { return wire.Cut{Direction: c.Direction, Refuse: c.Refuse} }

// Name is "cut(actor,target)".
func (c *Cut) Name() string { return c.name("cut") }

// Check finds unknown links and directions.
func (c *Cut) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return c.check(path, on, c.harm())
}

// Inject cuts the link.
func (c *Cut) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return c.inject(ctx, w, c.harm())
}
