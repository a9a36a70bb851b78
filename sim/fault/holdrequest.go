package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// HoldRequest keeps requests until it is healed, before the API server sees them or on the way back.
type HoldRequest struct {
	Requests `json:",inline"`
	// At says whether the request is held (Before, when not given) or its answer (After).
	At requests.Moment `json:"at,omitempty"`
}

var _ Fault = &HoldRequest{}

func (h *HoldRequest) harm() link.Fault {
	return requests.Hold{Match: h.match(), Turn: h.Turn, At: h.At}
}

// Name is "holdRequest(actor,target,what)".
func (h *HoldRequest) Name() string { return h.name("holdRequest", h.match()) }

// Check finds unknown links and verbs.
func (h *HoldRequest) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return h.check(path, on, h.harm())
}

// Inject holds requests.
func (h *HoldRequest) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return h.inject(ctx, w, h.harm(), nil)
}
