package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// CloudUnreachable breaks the connection of every call to the cloud before it arrives. Questions to the DNS server,
// which are calls of kind names, get no answer.
type CloudUnreachable struct {
	Calls `json:",inline"`
}

var _ Fault = &CloudUnreachable{}

func (c *CloudUnreachable) harm() cloud.Fault {
	return c.fault(cloud.Effect{Drop: cloud.DropRequest})
}

// Name is "cloudUnreachable(calls)".
func (c *CloudUnreachable) Name() string { return c.name("cloudUnreachable") }

// Check finds unknown callers, kinds and verbs.
func (c *CloudUnreachable) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return c.check(path, on)
}

// Inject makes the cloud unreachable.
func (c *CloudUnreachable) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, c.harm())
}
