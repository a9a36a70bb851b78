package admission

import (
	"encoding/json"
	"net/http"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

// enters are objects as their authors write them, and as the API server has them, of each kind that has defaults.
var enters = map[string]struct{ written, stored string }{
	"CloudProfile": {`
spec:
  fieldOfTheFuture: 1
  machineImages:
  - {name: i, later: {a: b},
     versions: [{version: 1.0.0, later: 2}, {version: 1.0.1, cri: null, architectures: [arm64]}]}
  machineTypes: [{name: m, cpu: "1", later: 3}]
`, `
spec:
  fieldOfTheFuture: 1
  machineImages:
  - name: i
    later: {a: b}
    updateStrategy: major
    versions:
    - {version: 1.0.0, later: 2, cri: [{name: containerd}], architectures: [amd64]}
    - {version: 1.0.1, cri: [{name: containerd}], architectures: [arm64]}
  machineTypes: [{name: m, cpu: "1", later: 3, architecture: amd64, usable: true}]
`},
	"Seed": {`
spec: {settings: {scheduling: {visible: false, later: 1}}}
`, `
spec:
  networks: {ipFamilies: [IPv4]}
  settings:
    scheduling: {visible: false, later: 1}
    dependencyWatchdog: {weeder: {enabled: true}, prober: {enabled: true}}
    topologyAwareRouting: {enabled: false}
    verticalPodAutoscaler: {enabled: true}
`},
	"Project": {`
spec:
  namespace: garden
  owner: {kind: User, name: o, later: 1}
  tolerations: {whitelist: [{key: a, later: 2}]}
`, `
spec:
  namespace: garden
  createdBy: {kind: User, name: somebody, apiGroup: rbac.authorization.k8s.io}
  owner: {kind: User, name: o, later: 1, apiGroup: rbac.authorization.k8s.io}
  tolerations:
    defaults: [{key: seed.gardener.cloud/protected}]
    whitelist: [{key: a, later: 2}, {key: seed.gardener.cloud/protected}]
`},
}

func unmarshal(t *testing.T, text string) map[string]any {
	t.Helper()
	wire := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &wire); err != nil {
		t.Fatal(err)
	}
	return wire
}

// Who owns a project without an owner is a member with that role, or else who creates it. A change sets neither.
func TestObjectDefaulter_Project_HasItsCreator(t *testing.T) {
	t.Parallel()
	ask := func(operation admissionv1.Operation, text string) (createdBy, owner any) {
		request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: operation, Kind: metav1.GroupVersionKind{Kind: "Project"},
			Object:   admissiontest.Raw(t, unmarshal(t, text)),
			UserInfo: authenticationv1.UserInfo{Username: "somebody"},
		}}
		got := map[string]any{}
		if err := json.Unmarshal(patched(t, request, objectDefaulter{}.Handle(t.Context(), request)), &got); err != nil {
			t.Fatal(err)
		}
		name := func(field string) any {
			who, _, _ := unstructured.NestedFieldNoCopy(got, "spec", field, "name") // nil if it is not there
			return who
		}
		return name("createdBy"), name("owner")
	}
	for text, want := range map[string]string{
		"spec: {namespace: garden-a}": "somebody",
		"spec: {namespace: garden-a, members: [{kind: User, name: a, role: admin}, {kind: User, name: b, role: owner}]}": "b",
		"spec: {namespace: garden-a, members: [{kind: User, name: c, role: admin, roles: [owner]}]}":                     "c",
		"spec: {namespace: garden-a, owner: {kind: User, name: d}, members: [{kind: User, name: b, role: owner}]}":       "d",
	} {
		if createdBy, owner := ask(admissionv1.Create, text); createdBy != "somebody" || owner != want {
			t.Errorf("%s: created by %v, owned by %v, want %s", text, createdBy, owner, want)
		}
		if createdBy, _ := ask(admissionv1.Update, text); createdBy != nil {
			t.Errorf("%s: a change says that it was created by %v", text, createdBy)
		}
	}
}

// TestObjectDefaulter_EachKind_KeepsUnknownFields asks as the API server does.
func TestObjectDefaulter_EachKind_KeepsUnknownFields(t *testing.T) {
	t.Parallel()
	for kind, c := range enters {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Kind: kind},
				Object:   admissiontest.Raw(t, unmarshal(t, c.written)),
				UserInfo: authenticationv1.UserInfo{Username: "somebody"},
			}}
			response := objectDefaulter{}.Handle(t.Context(), request)
			if !response.Allowed {
				t.Fatalf("refused: %+v", response.Result)
			}
			got := map[string]any{}
			if err := json.Unmarshal(patched(t, request, response), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(unmarshal(t, c.stored), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			request.Object = admissiontest.Raw(t, got)
			if again := (objectDefaulter{}).Handle(t.Context(), request); len(again.Patches) > 0 {
				t.Errorf("the second time: %v", again.Patches)
			}
		})
	}
	raw := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Kind: metav1.GroupVersionKind{Kind: "Seed"}}}
	raw.Object.Raw = []byte(`{"spec":[]}`)
	if response := (objectDefaulter{}).Handle(t.Context(),
		raw); response.Allowed || response.Result.Code != http.StatusBadRequest {
		t.Errorf("what cannot be read: %+v", response.Result)
	}
}

func patched(t *testing.T, request admission.Request, response admission.Response) []byte {
	t.Helper()
	content, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(content)
	if err != nil {
		t.Fatal(err)
	}
	object, err := patch.Apply(request.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// TestValidator_ObjectFromBeforeTheDefaults_TheyAreNoChange: what an older object gets by default must not keep it from
// being moved, nor a pool from being updated in place.
func TestValidator_ObjectFromBeforeTheDefaults_TheyAreNoChange(t *testing.T) {
	t.Parallel()
	old := admissiontest.Shoot()
	old.Spec.Provider.Workers[0].UpdateStrategy = ptr.To(gardencorev1beta1.AutoInPlaceUpdate)
	now := old.DeepCopy()
	now.Spec.SeedName = ptr.To("b")
	now.SetDefaults()
	response := validatorOf(fakeGarden(t, false)).Handle(t.Context(),
		requestOf(t, "UPDATE", old, now))
	if !response.Allowed {
		t.Errorf("refused: %s", response.Result.Message)
	}
	old.Status.SeedName, now.Spec.SeedName = ptr.To("b"), old.Spec.SeedName // locked while it moves
	response = validatorOf(fakeGarden(t, false)).Handle(t.Context(),
		requestOf(t, "UPDATE", old, now))
	if !response.Allowed {
		t.Errorf("locked: refused: %s", response.Result.Message)
	}
}

// defaultsOnServer: whatever enters has its defaults, and what is taken away comes back.
func defaultsOnServer(t *testing.T, g *gardenOnServer) {
	ctx := t.Context()
	object := func(kind, name, text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: unmarshal(t, text)}
		u.SetAPIVersion("core.gardener.cloud/v1beta1")
		u.SetKind(kind)
		u.SetName(name)
		return u
	}
	profile := object("CloudProfile", "written", `
spec:
  type: transplant
  regions: [{name: here}]
  kubernetes: {versions: [{version: 1.36.3}]}
  machineImages: [{name: i, versions: [{version: 1.0.0}]}]
  machineTypes: [{name: m, cpu: "1", gpu: "0", memory: 1Gi}]
`)
	g.create(t, profile)
	want := unmarshal(t, `
spec:
  type: transplant
  regions: [{name: here}]
  kubernetes: {versions: [{version: 1.36.3}]}
  machineImages:
  - {name: i, updateStrategy: major, versions: [{version: 1.0.0, architectures: [amd64], cri: [{name: containerd}]}]}
  machineTypes: [{name: m, cpu: "1", gpu: "0", memory: 1Gi, architecture: amd64, usable: true}]
`)
	if diff := cmp.Diff(want["spec"], profile.Object["spec"]); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	// A pool that the profile has an image for, as it is written.
	shoot := alphaOnServer("written")
	shoot.Spec.CloudProfile.Name = "written"
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{
		Name: "pool", Maximum: 1, Machine: gardencorev1beta1.Machine{Type: "m",
			Image: &gardencorev1beta1.ShootMachineImage{Name: "i"}},
	}}
	if err := g.Create(ctx, shoot, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if pool := shoot.Spec.Provider.Workers[0]; pool.CRI == nil || ptr.Deref(pool.Machine.Image.Version, "") != "1.0.0" {
		t.Errorf("pool: %+v", pool)
	}
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"machineTypes":[{"name":"m","cpu":"1","gpu":"0","memory":"1Gi"}]}}`))
	if err := g.Patch(ctx, profile, patch); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want["spec"], profile.Object["spec"]); diff != "" {
		t.Errorf("profile, when defaults were taken away (-want +got):\n%s", diff)
	}
	project := object("Project", "own", `spec: {namespace: garden, owner: {kind: User, name: o}}`)
	seed := object("Seed", "new", `
spec: {provider: {type: transplant, region: here}, networks: {pods: 10.0.0.0/16, services: 10.1.0.0/16}, dns: {}}`)
	for _, o := range []*unstructured.Unstructured{project, seed} {
		if err := g.Create(ctx, o, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
	}
	if defaults, _, err := unstructured.NestedSlice(project.Object, "spec", "tolerations",
		"defaults"); err != nil || len(defaults) != 1 {
		t.Errorf("project: %v", project.Object["spec"])
	}
	if visible, found, err := unstructured.NestedBool(seed.Object, "spec", "settings", "scheduling",
		"visible"); err != nil || !found || !visible {
		t.Errorf("seed: %v", seed.Object["spec"])
	}
}
