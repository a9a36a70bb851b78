package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// CloseWatch ends watches, those that are open and new ones, as an API server does when their time is up.
type CloseWatch struct {
	Watches `json:",inline"`
	// Life of a watch; it ends at once when not given.
	Life metav1.Duration `json:"life,omitzero" zero:"at once"`
}

var _ Fault = &CloseWatch{}

func (c *CloseWatch) harm() link.Fault {
	return watches.Closed{Match: c.match(), Turn: c.Turn, Life: c.Life}
}

// Name is "closeWatch(actor,target,what)".
func (c *CloseWatch) Name() string { return c.name("closeWatch", c.match()) }

// Check finds unknown links and impossible turns.
func (c *CloseWatch) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return c.check(path, on, c.harm())
}

// Inject closes watches.
func (c *CloseWatch) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return c.inject(ctx, w, c.harm(), nil)
}
