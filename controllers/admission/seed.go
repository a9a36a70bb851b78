package admission

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// seedValidator refuses Seeds on which nothing could be placed, and changes that their shoots would not survive. A Seed
// that has shoots is not deleted: a new one of its name has another UID, so that nobody would find the shoots' backups.
type seedValidator struct{ client client.Client }

var _ admission.Handler = &seedValidator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *seedValidator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	if raw.Operation == admissionv1.Delete {
		return v.deletion(ctx, &raw.AdmissionRequest)
	}
	w, err := review.Read(&raw.AdmissionRequest, func() *gardencorev1beta1.Seed { return &gardencorev1beta1.Seed{} })
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if w == nil {
		return admission.Allowed("")
	}
	return review.Answer(&raw.AdmissionRequest, w.Judge(validation.SeedChange, validation.Seed))
}

func (v *seedValidator) deletion(ctx context.Context, r *admissionv1.AdmissionRequest) admission.Response {
	shoots := &gardencorev1beta1.ShootList{}
	if err := v.client.List(ctx, shoots); err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("list the shoots: %w", err))
	}
	var users []gardencorev1beta1.Shoot
	for _, shoot := range shoots.Items {
		if ptr.Deref(shoot.Spec.SeedName, "") == r.Name || ptr.Deref(shoot.Status.SeedName, "") == r.Name {
			users = append(users, shoot)
		}
	}
	return review.Answer(r, unused("seed", users))
}
