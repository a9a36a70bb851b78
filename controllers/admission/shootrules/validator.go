package shootrules

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

// Validator asks all rules about a request.
type Validator struct {
	// Client reads the garden, not from a cache.
	Client client.Client
	// Tolerations are the lists that hold in all projects.
	Tolerations toleration.Lists
	Clock       clock.PassiveClock
	// InPlaceUpdates is whether there may be pools that are updated in place.
	InPlaceUpdates bool
}

// Validate lists what is wrong with a request. The error says why it cannot be judged.
func (v *Validator) Validate(ctx context.Context, r *Request) (field.ErrorList, error) {
	g, errs, err := v.look(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, judge := range shootRules() {
		errs = append(errs, judge(r, g)...)
	}
	return errs, nil
}
