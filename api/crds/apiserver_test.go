package crds_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/api/jsonloss"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

const namespace = "garden-p"

// TestOnAPIServer installs all definitions on a real API server, which refuses those that are not structural.
func TestOnAPIServer(t *testing.T) {
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.All()})
	createNamespace(t, config)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *rest.Config)
	}{
		{"unknown fields are kept", unknownFieldsAreKept},
		{"typed patches keep unknown fields", typedPatchesKeepUnknownFields},
		{"rules", rules},
		{"columns", columns},
		{"nothing set", nothingSet},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, config) })
	}
}

func createNamespace(t *testing.T, config *rest.Config) {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	project := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := kube.CoreV1().Namespaces().Create(t.Context(), project, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := newScheme(t)
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resourceOf(t *testing.T, config *rest.Config, definition *apiextensionsv1.CustomResourceDefinition) dynamic.ResourceInterface {
	t.Helper()
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resource := d.Resource(gvk(definition).GroupVersion().WithResource(definition.Spec.Names.Plural))
	if definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
		return resource.Namespace(namespace)
	}
	return resource
}

// filled returns an object of a kind with all its fields and, but for our own group, unknown ones everywhere.
func filled(definition *apiextensionsv1.CustomResourceDefinition, name string) *unstructured.Unstructured {
	schema := *definition.Spec.Versions[0].Schema.OpenAPIV3Schema.DeepCopy()
	for _, field := range []string{"metadata", "apiVersion", "kind"} {
		delete(schema.Properties, field)
	}
	samples := sampler{unknown: definition.Spec.Group != transplantv1alpha1.GroupName}
	object := &unstructured.Unstructured{Object: samples.object(schema)}
	object.SetGroupVersionKind(gvk(definition))
	object.SetName(name)
	return object
}

// Objects of every kind, filled to the last leaf, are created and their status is patched; all of it must come back.
func unknownFieldsAreKept(t *testing.T, config *rest.Config) {
	for _, definition := range crds.All() {
		t.Run(definition.Name, func(t *testing.T) {
			resource, object := resourceOf(t, config, definition), filled(definition, "filled")
			if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
				t.Fatalf("create: %v", err)
			}
			if status, ok := object.Object["status"]; ok {
				patch := mustMarshal(t, map[string]any{"status": status})
				if _, err := resource.Patch(t.Context(), "filled", types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
					t.Fatalf("patch the status: %v", err)
				}
			}
			got, err := resource.Get(t.Context(), "filled", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wantNothingLost(t, object.Object, got.Object)
		})
	}
}

func wantNothingLost(t *testing.T, before, after any) {
	t.Helper()
	lost, err := jsonloss.Between(before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lost {
		t.Errorf("lost %s", path)
	}
}

func mustMarshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A controller reads into our types, which do not have all fields, changes something, and writes by merge patch.
func typedPatchesKeepUnknownFields(t *testing.T, config *rest.Config) {
	ctx, c := t.Context(), newClient(t, config)
	before := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"region": "here", "notModelled": "kept", "seedName": "a",
			"provider": map[string]any{"type": "transplant", "notModelled": "kept",
				"infrastructureConfig": map[string]any{"kind": "Config", "deep": map[string]any{"er": "kept"}}},
			"kubernetes": map[string]any{"version": "1.36.3", "kubeAPIServer": map[string]any{"notModelled": "kept"}},
		},
	}}
	before.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	before.SetName("typed")
	before.SetNamespace(namespace)
	if err := c.Create(ctx, before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	status := map[string]any{"technicalID": "shoot--p--typed", "notModelled": "kept", "credentials": map[string]any{"notModelled": "kept"}}
	before.Object["status"] = status
	raw := client.RawPatch(types.MergePatchType, mustMarshal(t, map[string]any{"status": status}))
	if err := c.Status().Patch(ctx, before.DeepCopy(), raw); err != nil {
		t.Fatal(err)
	}

	shoot := &gardencorev1beta1.Shoot{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(before), shoot); err != nil {
		t.Fatal(err)
	}
	base := shoot.DeepCopy()
	shoot.Spec.SeedName = ptr.To("b")
	shoot.Spec.Kubernetes.KubeAPIServer.EventTTL = &metav1.Duration{}
	shoot.Spec.Provider.InfrastructureConfig = nil
	if err := c.Patch(ctx, shoot, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	base = shoot.DeepCopy()
	shoot.Status.SeedName = ptr.To("b")
	shoot.Status.Conditions = []gardencorev1beta1.Condition{{Type: "EveryNodeReady", Status: gardencorev1beta1.ConditionProgressing}}
	if err := c.Status().Patch(ctx, shoot, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}

	after := &unstructured.Unstructured{}
	after.SetGroupVersionKind(before.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(before), after); err != nil {
		t.Fatal(err)
	}
	want := before.DeepCopy()
	unstructured.RemoveNestedField(want.Object, "spec", "provider", "infrastructureConfig")
	if err := unstructured.SetNestedField(want.Object, "b", "spec", "seedName"); err != nil {
		t.Fatal(err)
	}
	wantNothingLost(t, want.Object, after.Object)
	if _, found, _ := unstructured.NestedMap(after.Object, "spec", "provider", "infrastructureConfig"); found {
		t.Error("the patch did not remove a field")
	}
}

// Rules that a single object suffices for are kept by the API server itself.
func rules(t *testing.T, config *rest.Config) {
	c := newClient(t, config)
	shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{SeedName: ptr.To("a")}}
	infrastructure := &extensionsv1alpha1.Infrastructure{Spec: extensionsv1alpha1.InfrastructureSpec{
		DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "transplant"},
	}}
	chunk := &transplantv1alpha1.ShootStateChunk{ShootName: "rules", Index: 1, Bytes: 4, SHA256: strings.Repeat("a", 64), Data: []byte("data")}
	for _, test := range []struct {
		name, patch, refusal string
		object               client.Object
	}{
		{"seedName may change", `{"spec":{"seedName":"b"}}`, "", shoot},
		{"seedName must not go", `{"spec":{"seedName":null}}`, "seedName must not be unset once it is set", shoot},
		{"class shoot is the default", `{"spec":{"class":"shoot"}}`, "", infrastructure},
		{"class must not change", `{"spec":{"class":"seed"}}`, "class is immutable", infrastructure},
		{"class is one of three", `{"spec":{"class":"moon"}}`, `Unsupported value: "moon": supported values: "garden", "seed", "shoot"`, infrastructure},
		{"type is needed", `{"spec":{"type":null}}`, "spec.type: Required value", infrastructure},
		{"a chunk never changes", `{"index":2}`, "a chunk never changes", chunk},
		{"a chunk has a digest", `{"sha256":"no"}`, "sha256: Invalid value", chunk},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := test.object.DeepCopyObject().(client.Object)
			object.SetName("rules-" + strings.ReplaceAll(strings.ToLower(test.name), " ", "-"))
			object.SetNamespace(namespace)
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(test.patch)))
			switch {
			case test.refusal == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refusal != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.refusal)):
				t.Errorf("got %v, want a refusal with %q", err, test.refusal)
			}
		})
	}
}

// What kubectl get shows is what a Gardener user knows.
func columns(t *testing.T, config *rest.Config) {
	c := newClient(t, config)
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Name: "columns", Namespace: namespace, Labels: map[string]string{"shoot.gardener.cloud/status": "healthy"}},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "profile"}, Region: "here",
			Provider: gardencorev1beta1.Provider{Type: "transplant"}, Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
		},
	}
	patchStatus(t, c, shoot, `{"hibernated":true,"seedName":"a","lastOperation":{"type":"Migrate","state":"Processing","progress":42}}`)
	seed := &gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: "columns"},
		Spec:       gardencorev1beta1.SeedSpec{Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"}},
	}
	patchStatus(t, c, seed, `{"conditions":[{"type":"GardenletReady","status":"True"}],"kubernetesVersion":"1.36.3","gardener":{"version":"v1"}}`)

	for path, want := range map[string]map[string]any{
		"/apis/core.gardener.cloud/v1beta1/namespaces/" + namespace + "/shoots/columns": {
			"Name": "columns", "CloudProfile": "profile", "Provider": "transplant", "Region": "here", "K8S Version": "1.36.3",
			"Hibernation": true, "Last Operation": "Migrate", "State": "Processing", "Progress": float64(42), "Status": "healthy",
		},
		"/apis/core.gardener.cloud/v1beta1/seeds/columns": {
			"Name": "columns", "Gardenlet": "True", "Provider": "transplant", "Region": "here", "Version": "v1", "K8S Version": "1.36.3",
			"Last Operation": nil, "State": nil,
		},
	} {
		got := table(t.Context(), t, config, path)
		delete(got, "Age")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", path, diff)
		}
	}
}

func patchStatus(t *testing.T, c client.Client, object client.Object, status string) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := c.Status().Patch(t.Context(), object, patch); err != nil {
		t.Fatal(err)
	}
}

// table returns the cells that kubectl shows without -o wide, by column.
func table(ctx context.Context, t *testing.T, config *rest.Config, path string) map[string]any {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := kube.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	cells := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			cells[column.Name] = table.Rows[0].Cells[i]
		}
	}
	return cells
}

// Objects with nothing but what must be set, created and their status updated through our types: no zero value of a type
// is refused.
func nothingSet(t *testing.T, config *rest.Config) {
	c, scheme := newClient(t, config), newScheme(t)
	for _, definition := range crds.All() {
		if definition.Spec.Group == "transplant.dev" {
			continue // has no optional field
		}
		t.Run(definition.Name, func(t *testing.T) {
			typed, err := scheme.New(gvk(definition))
			if err != nil {
				t.Fatal(err)
			}
			object := typed.(client.Object)
			object.SetName("nothing")
			if definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
				object.SetNamespace(namespace)
			}
			if config, ok := object.(*extensionsv1alpha1.OperatingSystemConfig); ok {
				config.Spec.Purpose = "provision"
			}
			if dns, ok := object.(*extensionsv1alpha1.DNSRecord); ok {
				dns.Spec.RecordType = "A"
			}
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatalf("create: %v", err)
			}
			if sub := definition.Spec.Versions[0].Subresources; sub == nil || sub.Status == nil {
				return
			}
			object.SetLabels(map[string]string{"changed": "too"})
			if err := c.Status().Update(t.Context(), object); err != nil {
				t.Errorf("update the status: %v", err)
			}
		})
	}
}
