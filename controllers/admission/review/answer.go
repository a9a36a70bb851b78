package review

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// MaxNamed is how many fields or shoots a refusal names at most.
const MaxNamed = 10

// Answer says no with the errors, or yes.
func Answer(raw *admissionv1.AdmissionRequest, errs field.ErrorList) admission.Response {
	if len(errs) > 0 {
		return Refuse(raw, errs)
	}
	return admission.Allowed("")
}

// Refuse says what is wrong as the API server does: 403 when this must not be done now, 422 when a value is wrong; with
// a cause for each field.
func Refuse(r *admissionv1.AdmissionRequest, errs field.ErrorList) admission.Response {
	status := apierrors.NewInvalid(schema.GroupKind{Group: r.Kind.Group, Kind: r.Kind.Kind}, r.Name, errs).ErrStatus
	if forbids(r.Operation, errs) {
		resource := schema.GroupResource{Group: r.Resource.Group, Resource: r.Resource.Resource}
		forbidden := apierrors.NewForbidden(resource, r.Name, errs.ToAggregate()).ErrStatus
		status.Code, status.Reason, status.Message = forbidden.Code, forbidden.Reason, forbidden.Message
	}
	status.Status = metav1.StatusFailure
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

func forbids(operation admissionv1.Operation, errs field.ErrorList) bool {
	return operation == admissionv1.Delete ||
		!slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type != field.ErrorTypeForbidden })
}
