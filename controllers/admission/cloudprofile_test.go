package admission

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestProfileValidator(t *testing.T) {
	t.Parallel()
	request := func(operation admissionv1.Operation, change func(*gardencorev1beta1.CloudProfile)) admission.Request {
		old, now := admissiontest.Profile(), admissiontest.Profile()
		if change != nil {
			change(now)
		}
		encoded := func(profile *gardencorev1beta1.CloudProfile) runtime.RawExtension {
			content, err := json.Marshal(profile)
			if err != nil {
				t.Fatal(err)
			}
			return runtime.RawExtension{Raw: content}
		}
		r := admissionv1.AdmissionRequest{Operation: operation, Name: "profile"}
		r.Kind.Group, r.Resource.Group = "core.gardener.cloud", "core.gardener.cloud"
		r.Kind.Kind, r.Resource.Resource = "CloudProfile", "cloudprofiles"
		if operation != admissionv1.Delete {
			r.Object = encoded(now)
		}
		if operation != admissionv1.Create {
			r.OldObject = encoded(old)
		}
		return admission.Request{AdmissionRequest: r}
	}
	used := admissiontest.Shoot()
	used.Spec.CloudProfileName, used.Spec.Kubernetes.Version = ptr.To("profile"), "1.35.0"
	for _, c := range []struct {
		name       string
		request    admission.Request
		unreadable bool
		code       int32
		message    string
	}{
		{name: "same", request: request("UPDATE", nil), code: http.StatusOK},
		{
			name: "new with a version that has expired", request: request("CREATE", nil), code: http.StatusUnprocessableEntity,
			message: `CloudProfile.core.gardener.cloud "profile" is invalid: [spec.kubernetes.versions[0].expirationDate: ` +
				`Invalid value: "2026-05-31T23:00:00Z": ` +
				`must not be in the past: version 1.34.1 is new, spec.machineImages[0].versions[0].expirationDate: Invalid ` +
				`value: "2026-05-31T23:00:00Z": must not be in the past: version 1.0.0 is new]`,
		},
		{
			name: "a version in use is taken away", code: http.StatusForbidden,
			request: request("UPDATE", func(p *gardencorev1beta1.CloudProfile) {
				p.Spec.Kubernetes.Versions = append(p.Spec.Kubernetes.Versions[:2:2], p.Spec.Kubernetes.Versions[3:]...)
			}),
			message: `cloudprofiles.core.gardener.cloud "profile" is forbidden: spec.kubernetes.versions: Forbidden: cannot ` +
				`remove the Kubernetes version 1.35.0: it is in use by shoot garden-p/alpha`,
		},
		{
			name: "deleted while in use", code: http.StatusForbidden, request: request("DELETE", nil),
			message: `cloudprofiles.core.gardener.cloud "profile" is forbidden: metadata.deletionTimestamp: Forbidden: the ` +
				`profile must not be deleted while it is in use by shoot garden-p/alpha`,
		},
		{name: "the garden cannot be read", unreadable: true, request: request("DELETE", nil),
			code: http.StatusInternalServerError, message: "list the shoots: no route"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			garden := fakeGarden(t, c.unreadable)
			if err := garden.Create(context.Background(), used.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			response := (&profileValidator{client: garden, clock: testClock()}).Handle(t.Context(), c.request)
			if response.Result.Code != c.code || response.Result.Message != c.message {
				t.Errorf("got %d %q, want %d %q", response.Result.Code, response.Result.Message, c.code, c.message)
			}
		})
	}
}
