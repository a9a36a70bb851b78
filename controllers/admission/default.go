package admission

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/defaults"
	"github.com/transplant-sim/transplant/controllers/admission/review"
	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
)

// objectDefaulter fills in what an object of its kind has by default, as Gardener's API server would
// (docs/defaults.md), and warns of fields without effect.
type objectDefaulter struct{}

var _ admission.Handler = objectDefaulter{}

// Handle answers one request.
func (objectDefaulter) Handle(_ context.Context, raw admission.Request) admission.Response {
	wire := map[string]any{}
	if err := json.Unmarshal(raw.Object.Raw, &wire); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the %s: %w", raw.Kind.Kind, err))
	}
	if err := defaults.Set(raw.Kind.Kind, wire); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if raw.Kind.Kind == "Project" && raw.Operation == admissionv1.Create {
		setCreator(wire, raw.UserInfo.Username)
	}
	changed, err := json.Marshal(wire)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the %s: %w", raw.Kind.Kind, err))
	}
	return admission.PatchResponseFromRaw(raw.Object.Raw, changed).WithWarnings(review.Warnings(&raw.AdmissionRequest)...)
}

// setCreator says who has created a project. If the project does not say who owns it, that is the first member with the
// role of an owner, or else the creator.
func setCreator(project map[string]any, user string) {
	spec, ok := project["spec"].(map[string]any)
	if !ok {
		return // validation refuses it
	}
	creator := map[string]any{"apiGroup": rbacv1.GroupName, "kind": rbacv1.UserKind, "name": user}
	spec["createdBy"] = creator
	if spec["owner"] != nil {
		return
	}
	spec["owner"] = maps.Clone(creator)
	members, _, _ := unstructured.NestedSlice(project, "spec", "members") // validation refuses what is no list
	for _, entry := range members {
		member, _ := entry.(map[string]any)
		roles, _, _ := unstructured.NestedStringSlice(member, "roles")
		if slices.Contains(append(roles, fmt.Sprint(member["role"])), gardencorev1beta1.ProjectMemberOwner) {
			delete(member, "role")
			delete(member, "roles")
			spec["owner"] = member
			return
		}
	}
}

// defaulter does so for Shoots. Besides, it sets what depends on other objects: the labels by which gardenlets select
// shoots, the tolerations that new shoots get (docs/specification/api.md#spec-1-4,
// docs/specification/nodes-and-seeds.md#spec-7-2), and the rest of versions of which only a part is named
// (docs/specification/versions.md#spec-4-3). It changes the object as it is on the wire, so that fields which our types
// do not have survive.
type defaulter struct {
	client      client.Client
	tolerations toleration.Lists
	clock       clock.PassiveClock
}

var _ admission.Handler = &defaulter{}

// Handle answers one request.
func (d *defaulter) Handle(ctx context.Context, raw admission.Request) admission.Response {
	r, err := shootrules.NewRequest(&raw.AdmissionRequest)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	wire := map[string]any{}
	if err := json.Unmarshal(raw.Object.Raw, &wire); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the shoot: %w", err))
	}
	if err := defaults.Set("Shoot", wire); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	object := &unstructured.Unstructured{Object: wire}
	if labels, wrong := seedLabels(r.Shoot); wrong {
		object.SetLabels(labels)
	}
	if raw.Operation == admissionv1.Create {
		project, err := shootrules.ProjectOf(ctx, d.client, raw.Namespace)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		if err := addTolerations(object, d.tolerations.With(project).Missing(r.Shoot.Spec.Tolerations)); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	if errs, err := d.completeVersions(ctx, r, object); err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	} else if len(errs) > 0 {
		return review.Refuse(&raw.AdmissionRequest, errs).WithWarnings(review.Warnings(&raw.AdmissionRequest)...)
	}
	changed, err := json.Marshal(object.Object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("encode the shoot: %w", err))
	}
	return admission.PatchResponseFromRaw(raw.Object.Raw, changed).WithWarnings(review.Warnings(&raw.AdmissionRequest)...)
}

func addTolerations(object *unstructured.Unstructured, missing []gardencorev1beta1.Toleration) error {
	if len(missing) == 0 {
		return nil
	}
	tolerations, _, err := unstructured.NestedSlice(object.Object, "spec", "tolerations")
	if err != nil {
		return fmt.Errorf("read the tolerations of the shoot: %w", err)
	}
	for _, toleration := range missing {
		entry := map[string]any{"key": toleration.Key}
		if toleration.Value != nil {
			entry["value"] = *toleration.Value
		}
		tolerations = append(tolerations, entry)
	}
	return unstructured.SetNestedSlice(object.Object, tolerations, "spec", "tolerations")
}
