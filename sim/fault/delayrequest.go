package fault

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// DelayRequest makes requests wait, before the API server sees them or on the way back.
type DelayRequest struct {
	Requests `json:",inline"`
	// Delay of each request.
	Delay metav1.Duration `json:"delay"`
	// At says whether the request waits (Before, when not given) or its answer (After).
	At requests.Moment `json:"at,omitempty"`
}

var _ Fault = &DelayRequest{}

func (d *DelayRequest) harm() link.Fault {
	return requests.Delay{Match: d.match(), Turn: d.Turn, Delay: d.Delay, At: d.At}
}

// Name is "delayRequest(actor,target,what)".
func (d *DelayRequest) Name() string { return d.name("delayRequest", d.match()) }

// Check finds unknown links, verbs and impossible delays.
func (d *DelayRequest) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return d.check(path, on, d.harm())
}

// Inject delays requests.
func (d *DelayRequest) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return d.inject(ctx, w, d.harm(), nil)
}
