package fault

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// RequestLimit refuses requests that are larger, as an API server does whose limit is lower than the stock one of 3Mi.
type RequestLimit struct {
	Objects `json:",inline"`
	// Max is the size of the largest request that passes, such as 1Mi.
	Max resource.Quantity `json:"max"`
}

var _ Fault = &RequestLimit{}

func (l *RequestLimit) harm() link.Fault {
	return requests.SizeLimit{Match: l.match(), Bytes: l.Max.Value()}
}

// Name is "requestLimit(actor,target,what)".
func (l *RequestLimit) Name() string { return l.name("requestLimit", l.match()) }

// Check finds unknown links and impossible limits.
func (l *RequestLimit) Check(path *field.Path, on landscape.Landscape) field.ErrorList {
	return l.check(path, on, l.harm())
}

// Inject lowers the limit.
func (l *RequestLimit) Inject(ctx context.Context, w world.World) (world.Injection, error) {
	return l.inject(ctx, w, l.harm(), nil)
}
