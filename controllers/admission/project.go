package admission

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// verbTolerations is the verb on a project that changing its lists of tolerations needs.
const verbTolerations = "modify-spec-tolerations-whitelist"

// projectValidator refuses Projects whose names or namespaces cannot be used. It also refuses changes of a project's
// lists of tolerations to whom the garden's authorizers do not give the verb for it: who may write a project may not
// therefore open the seeds that operators have set aside (docs/specification/nodes-and-seeds.md#spec-7-2).
type projectValidator struct{ client client.Client }

var _ admission.Handler = &projectValidator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *projectValidator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	w, err := review.Read(&raw.AdmissionRequest, func() *gardencorev1beta1.Project { return &gardencorev1beta1.Project{} })
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if w == nil {
		return admission.Allowed("")
	}
	others := &gardencorev1beta1.ProjectList{}
	if err := v.client.List(ctx, others); err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("list the projects: %w", err))
	}
	errs := w.Judge(validation.ProjectChange, func(project *gardencorev1beta1.Project) field.ErrorList {
		return validation.Project(project, others.Items)
	})
	if !sameTolerations(w.Old, w.Object) {
		may, err := v.may(ctx, &raw.AdmissionRequest, verbTolerations)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		if !may {
			why := fmt.Sprintf("user %q is not allowed to change the tolerations of the project: it takes the verb %q on it",
				raw.UserInfo.Username, verbTolerations)
			errs = append(errs, field.Forbidden(field.NewPath("spec", "tolerations"), why))
		}
	}
	return review.Answer(&raw.AdmissionRequest, errs)
}

// sameTolerations says whether both projects have the same lists; none and empty ones are the same.
func sameTolerations(a, b *gardencorev1beta1.Project) bool {
	x, y := toleration.Lists{}.With(a), toleration.Lists{}.With(b)
	same := func(x, y []gardencorev1beta1.Toleration) bool {
		return len(x) == 0 && len(y) == 0 || reflect.DeepEqual(x, y)
	}
	return same(x.Defaults, y.Defaults) && same(x.Whitelist, y.Whitelist)
}

// may asks the garden's authorizers.
func (v *projectValidator) may(ctx context.Context, r *admissionv1.AdmissionRequest, verb string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range r.UserInfo.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.UserInfo.Username, Groups: r.UserInfo.Groups, UID: r.UserInfo.UID, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: gardencorev1beta1.SchemeGroupVersion.Group, Version: gardencorev1beta1.SchemeGroupVersion.Version,
			Resource: "projects", Name: r.Name,
		},
	}}
	if err := v.client.Create(ctx, access); err != nil {
		return false, fmt.Errorf("ask whether user %q may %s project %q: %w", r.UserInfo.Username, verb, r.Name, err)
	}
	return access.Status.Allowed, nil
}
