package admission

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
	"github.com/transplant-sim/transplant/controllers/admission/shootrules"
)

func fakeGarden(t *testing.T, unreadable bool) client.Client {
	t.Helper()
	a, b := admissiontest.Seed("a"), admissiontest.Seed("b")
	full := admissiontest.Shoot()
	full.Name, full.Spec.SeedName = "other", ptr.To("b")
	m, hosted := admissiontest.Seed("m"), admissiontest.Shoot()
	hosted.Name, hosted.Spec.SeedName = "m", ptr.To("alpha")
	hosted.Status.SeedName = nil
	builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(
		&a, &b, &m, full, hosted, managedSeed("alpha"), managedSeed("m"), admissiontest.Profile(),
		&gardencorev1beta1.Project{
			ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec: gardencorev1beta1.ProjectSpec{Namespace: ptr.To("garden-p"),
				Tolerations: &gardencorev1beta1.ProjectTolerations{
					Defaults: []gardencorev1beta1.Toleration{{Key: "mine"}, {Key: "ours", Value: ptr.To("v")}},
				}},
		},
	)
	if unreadable {
		builder = builder.WithInterceptorFuncs(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errors.New("no route")
			},
		})
	}
	return builder.Build()
}

// managedSeed is the seed that is the shoot of its name.
func managedSeed(name string) *seedmanagementv1alpha1.ManagedSeed {
	return &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: name}}}
}

func testClock() clock.PassiveClock { return testingclock.NewFakePassiveClock(admissiontest.Now) }

func validatorOf(garden client.Client) *validator {
	return &validator{rules: shootrules.Validator{Client: garden, Clock: testClock()}}
}

func requestOf(t *testing.T, operation admissionv1.Operation, old, now *gardencorev1beta1.Shoot) admission.Request {
	t.Helper()
	raw := func(shoot *gardencorev1beta1.Shoot) runtime.RawExtension {
		if shoot == nil {
			return runtime.RawExtension{}
		}
		content, err := json.Marshal(shoot)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: content}
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "garden-p", Name: "alpha",
		Kind:      metav1.GroupVersionKind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"},
		Resource:  metav1.GroupVersionResource{Group: "core.gardener.cloud", Version: "v1beta1", Resource: "shoots"},
		OldObject: raw(old), Object: raw(now),
	}}
}

func TestValidatorAnswers(t *testing.T) {
	t.Parallel()
	bound := func(seed string) *gardencorev1beta1.Shoot {
		shoot := admissiontest.Shoot()
		shoot.Spec.SeedName = &seed
		return shoot
	}
	for _, c := range []struct {
		name       string
		unreadable bool
		request    admission.Request
		allowed    bool
		code       int32
		message    string
	}{
		{name: "allowed", request: requestOf(t, "UPDATE", bound("a"), bound("b")), allowed: true, code: http.StatusOK},
		{
			name: "invalid", request: requestOf(t, "UPDATE", bound("a"), bound("x")), code: http.StatusUnprocessableEntity,
			message: `Shoot.core.gardener.cloud "alpha" is invalid: spec.seedName: Unsupported value: "x": ` +
				`supported values: "b"`,
		},
		{
			name: "hosted by the shoot itself", request: requestOf(t, "UPDATE", bound("a"), bound("m")),
			code: http.StatusUnprocessableEntity,
			message: `Shoot.core.gardener.cloud "alpha" is invalid: spec.seedName: Invalid value: "m": the seed is hosted ` +
				`by "alpha", which is the shoot itself: of two seeds that host each other, the loss of one leaves nobody to ` +
				`restore it; seeds that fit: b`,
		},
		{
			name: "forbidden", request: requestOf(t, "DELETE", bound("a"), nil), code: http.StatusForbidden,
			message: `shoots.core.gardener.cloud "alpha" is forbidden: ` +
				`[metadata.annotations[confirmation.gardener.cloud/deletion]: ` +
				`Required value: must be "true" before the shoot can be deleted, metadata.deletionTimestamp: Forbidden: the ` +
				`shoot must not be deleted: the shoot is the seed of ManagedSeed "alpha", which must be deleted first]`,
		},
		{
			name: "the garden cannot be read", unreadable: true, request: requestOf(t, "UPDATE", bound("a"), bound("b")),
			code:    http.StatusInternalServerError,
			message: "list the seeds: no route",
		},
		{name: "what needs no look is judged without the garden", unreadable: true,
			request: requestOf(t, "UPDATE", bound("a"), bound("a")), allowed: true, code: http.StatusOK},
		{
			name: "no shoot", request: admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: "CREATE",
				Object: runtime.RawExtension{Raw: []byte(`[]`)}}},
			code:    http.StatusBadRequest,
			message: "decode the shoot: json: cannot unmarshal array into Go value of type v1beta1.Shoot",
		},
		{
			name: "another kind of profile", code: http.StatusUnprocessableEntity,
			request: requestOf(t, "CREATE", nil, func() *gardencorev1beta1.Shoot {
				shoot := bound("a")
				shoot.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "NamespacedCloudProfile", Name: "n"}
				return shoot
			}()),
			message: `Shoot.core.gardener.cloud "alpha" is invalid: spec.cloudProfile.kind: Unsupported value: ` +
				`"NamespacedCloudProfile": supported values: "CloudProfile"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			response := validatorOf(fakeGarden(t, c.unreadable)).Handle(t.Context(), c.request)
			if response.Allowed != c.allowed || response.Result.Code != c.code || response.Result.Message != c.message {
				t.Errorf("got %t %d %q, want %t %d %q", response.Allowed, response.Result.Code, response.Result.Message, c.allowed,
					c.code, c.message)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	labelled := func(labels map[string]string, spec, status *string) *gardencorev1beta1.Shoot {
		shoot := admissiontest.Shoot()
		shoot.Labels, shoot.Spec.SeedName, shoot.Status.SeedName = labels, spec, status
		return shoot
	}
	ours := gardencorev1beta1.Toleration{Key: "ours", Value: ptr.To("v")}
	for _, c := range []struct {
		name        string
		operation   admissionv1.Operation
		shoot       *gardencorev1beta1.Shoot
		labels      map[string]string
		tolerations []gardencorev1beta1.Toleration
	}{
		{
			name: "a new shoot gets tolerations", operation: "CREATE", shoot: labelled(map[string]string{"my": "own"}, nil, nil),
			labels: map[string]string{"my": "own"}, tolerations: []gardencorev1beta1.Toleration{{Key: "mine"}, ours},
		},
		{
			name: "keys that it has are left alone", operation: "CREATE",
			shoot: func() *gardencorev1beta1.Shoot {
				shoot := labelled(nil, ptr.To("a"), nil)
				shoot.Spec.Tolerations = []gardencorev1beta1.Toleration{{Key: "mine", Value: ptr.To("w")}}
				return shoot
			}(),
			labels:      map[string]string{"name.seed.gardener.cloud/a": "true"},
			tolerations: []gardencorev1beta1.Toleration{{Key: "mine", Value: ptr.To("w")}, ours},
		},
		{
			name: "defaults are not added to an old shoot", operation: "UPDATE",
			shoot:  labelled(map[string]string{"name.seed.gardener.cloud/z": "true", "my": "own"}, ptr.To("b"), ptr.To("a")),
			labels: map[string]string{"name.seed.gardener.cloud/a": "true", "name.seed.gardener.cloud/b": "true", "my": "own"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request := requestOf(t, c.operation, nil, c.shoot)
			wire := map[string]any{}
			if err := json.Unmarshal(request.Object.Raw, &wire); err != nil {
				t.Fatal(err)
			}
			admissiontest.In(wire, "spec")["fieldOfTheFuture"] = 9007199254740993
			request.Object = admissiontest.Raw(t, wire)
			got := apply(t, request, (&defaulter{client: fakeGarden(t, false), clock: testClock()}).Handle(t.Context(), request))
			if diff := cmp.Diff(c.labels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.tolerations, got.Spec.Tolerations); diff != "" {
				t.Errorf("tolerations (-want +got):\n%s", diff)
			}
		})
	}
}

// apply does what the API server does with an answer. Only labels, tolerations and versions may be replaced: what else
// is set stays.
func apply(t *testing.T, request admission.Request, response admission.Response) *gardencorev1beta1.Shoot {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("refused: %+v", response.Result)
	}
	for _, operation := range response.Patches {
		path := operation.Path
		replaces := hasPrefix(path, "/metadata/labels") || hasPrefix(path, "/spec/tolerations") || strings.HasSuffix(path,
			"/version")
		if operation.Operation != "add" && !replaces {
			t.Errorf("the patch does %s %s", operation.Operation, path)
		}
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(patched(t, request, response), shoot); err != nil {
		t.Fatal(err)
	}
	return shoot
}

func hasPrefix(path, prefix string) bool {
	return len(path) >= len(prefix) && path[:len(prefix)] == prefix
}

func TestDefaulterWithoutGarden(t *testing.T) {
	t.Parallel()
	response := (&defaulter{client: fakeGarden(t, true), clock: testClock()}).Handle(t.Context(),
		requestOf(t, "CREATE", nil, admissiontest.Shoot()))
	if response.Allowed || response.Result.Code != http.StatusInternalServerError {
		t.Errorf("got %+v, want a refusal: defaults must not be left out silently", response)
	}
}

func TestSeedLabeler(t *testing.T) {
	t.Parallel()
	entry := &gardencorev1beta1.BackupEntry{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "entry",
			Labels: map[string]string{"name.seed.gardener.cloud/a": "true"}},
		Spec: gardencorev1beta1.BackupEntrySpec{SeedName: ptr.To("b")},
	}
	writes := 0
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(entry).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			writes++
			return c.Patch(ctx, o, patch, options...)
		},
	}).Build()
	labeler := &seedLabeler{client: c, empty: func() client.Object { return &gardencorev1beta1.BackupEntry{} }}
	for range 2 { // the second time there is nothing to do
		if _, err := labeler.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(entry)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(entry), entry); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"name.seed.gardener.cloud/b": "true"}, entry.Labels); diff != "" || writes != 1 {
		t.Errorf("labels after %d writes (-want +got):\n%s", writes, diff)
	}
	if _, err := labeler.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Errorf("an object that is gone: %v", err)
	}
}
