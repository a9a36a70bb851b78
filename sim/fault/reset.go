package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Reset breaks every open connection of a link with a TCP reset, and each new one, until it is healed.
type Reset struct {
	// Actor whose traffic is harmed.
	Actor string `json:"actor"`
	// Target of the traffic: a cluster, cloud, shoots, or shoot/<name>.
	Target string `json:"target"`
}

var _ Fault = &Reset{}

func (r *Reset) link() Link { return Link{Actor: r.Actor, Target: r.Target} }

// Name is "reset(actor,target)".
func (r *Reset) Name() string { return r.link().name("reset") }

// Traits are those of every fault of a link.
func (r *Reset) Traits() Traits { return r.link().Traits() }

// Check finds unknown links.
func (r *Reset) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return r.link().check(path, on, wire.Reset{})
}

// Inject resets the link's connections.
func (r *Reset) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return r.link().inject(ctx, w, wire.Reset{})
}
