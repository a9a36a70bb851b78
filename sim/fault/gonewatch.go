package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// GoneWatch behaves as if the history had been compacted: watches end with 410 Gone, and cannot go on from where they
// were; whoever lists again can watch again.
type GoneWatch struct {
	Watches `json:",inline"`
}

var _ Fault = &GoneWatch{}

func (g *GoneWatch) harm() link.Fault {
	return watches.Gone{Match: g.match(), Turn: g.Turn}
}

// Name is "goneWatch(actor,target,what)".
func (g *GoneWatch) Name() string { return g.name("goneWatch", g.match()) }

// Check finds unknown links and impossible turns.
func (g *GoneWatch) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return g.check(path, on, g.harm())
}

// Inject expires watches.
func (g *GoneWatch) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return g.inject(ctx, w, g.harm(), nil)
}
