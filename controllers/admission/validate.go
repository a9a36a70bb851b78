package admission

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
)

// validator refuses writes to Shoots that break a rule.
type validator struct{ rules shootrules.Validator }

var _ admission.Handler = &validator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *validator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	r, err := shootrules.NewRequest(&raw.AdmissionRequest)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	errs, err := v.rules.Validate(ctx, r)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return review.Answer(&raw.AdmissionRequest, errs)
}
