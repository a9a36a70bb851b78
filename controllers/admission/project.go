package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// verbTolerations is the verb on a project that changing its lists of tolerations needs.
const verbTolerations = "modify-spec-tolerations-whitelist"

// projectValidator refuses changes of a project's lists of tolerations to whom the garden's authorizers do not give the
// verb for it: who may write a project may not therefore open the seeds that operators have set aside (SPEC 7.2).
type projectValidator struct{ client client.Client }

var _ admission.Handler = &projectValidator{}

// Handle answers one request. What cannot be judged is refused, as an internal error.
func (v *projectValidator) Handle(ctx context.Context, raw admission.Request) admission.Response {
	project, err := decodeProject(raw.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the project: %w", err))
	}
	old, err := decodeProject(raw.OldObject)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the old project: %w", err))
	}
	if raw.Operation == admissionv1.Delete || sameTolerations(old, project) {
		return admission.Allowed("")
	}
	may, err := v.may(ctx, &raw.AdmissionRequest, verbTolerations)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if may {
		return admission.Allowed("")
	}
	why := fmt.Sprintf("user %q is not allowed to change the tolerations of the project: it takes the verb %q on it", raw.UserInfo.Username, verbTolerations)
	return refuse(&raw.AdmissionRequest, field.ErrorList{field.Forbidden(field.NewPath("spec", "tolerations"), why)})
}

func decodeProject(object runtime.RawExtension) (*gardencorev1beta1.Project, error) {
	project := &gardencorev1beta1.Project{}
	if len(object.Raw) == 0 {
		return project, nil
	}
	err := json.Unmarshal(object.Raw, project)
	project.SetDefaults()
	return project, err
}

// sameTolerations says whether both projects have the same lists; none and empty ones are the same.
func sameTolerations(a, b *gardencorev1beta1.Project) bool {
	x, y := Tolerations{}.With(a), Tolerations{}.With(b)
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
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.UserInfo.Username, Groups: r.UserInfo.Groups, UID: r.UserInfo.UID, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: gardencorev1beta1.SchemeGroupVersion.Group, Version: gardencorev1beta1.SchemeGroupVersion.Version, Resource: "projects", Name: r.Name,
		},
	}}
	if err := v.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether user %q may %s project %q: %w", r.UserInfo.Username, verb, r.Name, err)
	}
	return review.Status.Allowed, nil
}
