package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// FrozenWatch holds the events of watches, bookmarks included, while their connections stay open. They come when it is
// healed.
type FrozenWatch struct {
	Objects `json:",inline"`
}

var _ Fault = &FrozenWatch{}

func (f *FrozenWatch) harm() link.Fault {
	return watches.Frozen{Match: f.match()}
}

// Name is "frozenWatch(actor,target,what)".
func (f *FrozenWatch) Name() string { return f.name("frozenWatch", f.match()) }

// Check finds unknown links.
func (f *FrozenWatch) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return f.check(path, on, f.harm())
}

// Inject freezes watches.
func (f *FrozenWatch) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return f.inject(ctx, w, f.harm(), nil)
}
