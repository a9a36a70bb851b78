package admission

import (
	"context"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// validator refuses writes to Shoots that break a rule.
type validator struct {
	client      client.Client
	tolerations Tolerations
	clock       clock.PassiveClock
	// inPlaceUpdates is whether there may be pools that are updated in place.
	inPlaceUpdates bool
}

var _ admission.Handler = &validator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *validator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	r, err := newRequest(&raw.AdmissionRequest)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	g, errs, err := v.look(ctx, r)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	for _, judge := range shootRules() {
		errs = append(errs, judge(r, g)...)
	}
	return answer(&raw.AdmissionRequest, errs)
}

// refuse says what is wrong as the API server does: 403 when this must not be done now, 422 when a value is wrong; with
// a cause for each field.
func refuse(r *admissionv1.AdmissionRequest, errs field.ErrorList) admission.Response {
	status := apierrors.NewInvalid(gardencorev1beta1.SchemeGroupVersion.WithKind(r.Kind.Kind).GroupKind(), r.Name,
		errs).ErrStatus
	if forbids(r.Operation, errs) {
		resource := gardencorev1beta1.SchemeGroupVersion.WithResource(r.Resource.Resource).GroupResource()
		forbidden := apierrors.NewForbidden(resource, r.Name, errs.ToAggregate()).ErrStatus
		status.Code, status.Reason, status.Message = forbidden.Code, forbidden.Reason, forbidden.Message
	}
	status.Status = metav1.StatusFailure
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

func forbids(operation admissionv1.Operation, errs field.ErrorList) bool {
	if operation == admissionv1.Delete {
		return true
	}
	for _, err := range errs {
		if err.Type != field.ErrorTypeForbidden {
			return false
		}
	}
	return true
}
