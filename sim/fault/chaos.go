package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Chaos is an experiment of Chaos Mesh, as one would create it in a cluster. A cluster that has Chaos Mesh is given the
// object, if that shows whether it bites; elsewhere links and processes carry it out. What they cannot do the backend
// refuses before the run (docs/chaos-mesh.md). It ends after its duration, or with the heal.
type Chaos struct {
	Cluster `json:",inline"`
	// Object is the experiment, of a kind in docs/chaos-mesh.md.
	Object chaosmesh.Experiment `json:"object"`
}

var _ Fault = &Chaos{}

// Name is "chaos(cluster,kind action)".
func (c *Chaos) Name() string { return c.Object.Name(c.Cluster.Cluster) }

// Traits are those of what carries the experiment out.
func (c *Chaos) Traits() Traits {
	t := Traits{Ability: c.Object.Needs(), Place: c.place(), Momentary: true}
	t.Place.Cluster = c.Object.On(t.Place.Cluster)
	if field := c.Object.Beyond(); field != "" {
		t.Beyond = "object." + field
	}
	return t
}

// Check finds unknown clusters, whatever Chaos Mesh itself would refuse, what no backend can do, and unknown targets.
func (c *Chaos) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return append(c.check(path, on), c.Object.Check(path.Child("object"), on)...)
}

// Inject carries the experiment out.
func (c *Chaos) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return c.Object.Inject(ctx, w, c.Cluster.Cluster)
}
