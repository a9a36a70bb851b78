package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// CloudThrottle refuses calls above a rate.
type CloudThrottle struct {
	Calls `json:",inline"`
	// PerSecond is how many calls a second pass.
	PerSecond int `json:"perSecond"`
	// Burst is how many pass at once.
	Burst int `json:"burst,omitempty"`
}

var _ Fault = &CloudThrottle{}

func (c *CloudThrottle) harm() cloud.Fault {
	return c.fault(cloud.Effect{Throttle: &cloud.ThrottleEffect{PerSecond: float64(c.PerSecond),
		Burst: max(c.Burst, c.PerSecond)}})
}

// Name is "cloudThrottle(calls)".
func (c *CloudThrottle) Name() string { return c.name("cloudThrottle") }

// Check finds unknown callers, kinds and verbs, and impossible rates.
func (c *CloudThrottle) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	errs := c.check(path, on)
	if c.PerSecond < 0 || c.Burst < 0 {
		errs = append(errs, field.Invalid(path, c.PerSecond, "rate and burst must not be negative"))
	}
	return errs
}

// Inject throttles the cloud.
func (c *CloudThrottle) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return w.BreakCloud(ctx, c.harm())
}
