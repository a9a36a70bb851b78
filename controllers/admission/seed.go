package admission

import (
	"context"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// seedValidator refuses Seeds on which nothing could be placed, and changes that their shoots would not survive. It
// needs nothing but the request.
type seedValidator struct{}

var _ admission.Handler = &seedValidator{}

// Handle answers one request.
func (*seedValidator) Handle(_ context.Context, raw admission.Request) admission.Response {
	w, err := read(&raw.AdmissionRequest, func() *gardencorev1beta1.Seed { return &gardencorev1beta1.Seed{} })
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if w == nil {
		return admission.Allowed("")
	}
	return answer(&raw.AdmissionRequest, w.judge(validation.SeedChange, validation.Seed))
}
