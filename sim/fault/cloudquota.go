package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// CloudQuota refuses to create more than so many objects of a kind, those that are there included.
type CloudQuota struct {
	// Kind of the objects: networks, routers, machines, load-balancers, volumes and so on.
	Kind string `json:"kind"`
	// Max is how many there may be.
	Max int `json:"max"`
}

var _ Fault = &CloudQuota{}

func (c *CloudQuota) harm() cloud.Fault {
	return cloud.Fault{Match: cloud.Match{Kinds: []string{c.Kind}}, Effect: cloud.Effect{Quota: &c.Max}}
}

// Name is "cloudQuota(kind,max)".
func (c *CloudQuota) Name() string { return fmt.Sprintf("cloudQuota(%s,%d)", c.Kind, c.Max) }

// Traits are a fault of the cloud.
func (c *CloudQuota) Traits() Traits { return Traits{Ability: world.BreakCloud} }

// Check finds kinds of which none is ever created, and negative quotas.
func (c *CloudQuota) Check(path *field.Path, _ landscape.Landscape) field.ErrorList {
	errs := choice.Check(path.Child("kind"), c.Kind, createdKinds())
	if c.Max < 0 {
		errs = append(errs, field.Invalid(path.Child("max"), c.Max, "must not be negative"))
	}
	return errs
}

// Inject sets the quota.
func (c *CloudQuota) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, c.harm())
}
