package crds_test

import (
	"encoding/json"
	"strings"
	"testing"

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
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
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
		{"every column shows something", everyColumnShows},
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

func resourceOf(t *testing.T, config *rest.Config,
	definition *apiextensionsv1.CustomResourceDefinition) dynamic.ResourceInterface {
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
			object := filled(definition, "filled")
			resource := create(t, config, definition, object)
			got, err := resource.Get(t.Context(), "filled", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wantNothingLost(t, object.Object, got.Object)
		})
	}
}

// create an object and its status.
func create(t *testing.T, config *rest.Config, definition *apiextensionsv1.CustomResourceDefinition,
	object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	resource := resourceOf(t, config, definition)
	if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create: %v", err)
	}
	if status, ok := object.Object["status"]; ok {
		patch := mustMarshal(t, map[string]any{"status": status})
		if _, err := resource.Patch(t.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{},
			"status"); err != nil {
			t.Fatalf("patch the status: %v", err)
		}
	}
	return resource
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
	status := map[string]any{"technicalID": "shoot--p--typed", "notModelled": "kept",
		"credentials": map[string]any{"notModelled": "kept"}}
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
	shoot.Status.Conditions = []gardencorev1beta1.Condition{{Type: "EveryNodeReady",
		Status: gardencorev1beta1.ConditionProgressing}}
	if err := c.Status().Patch(ctx, shoot,
		client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
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
	chunk := &transplantv1alpha1.ShootStateChunk{ShootName: "rules", Index: 1, Bytes: 4, SHA256: strings.Repeat("a", 64),
		Data: []byte("data")}
	managed := &seedmanagementv1alpha1.ManagedSeed{Spec: seedmanagementv1alpha1.ManagedSeedSpec{
		Shoot: seedmanagementv1alpha1.Shoot{Name: "a"},
	}}
	for _, test := range []struct {
		name, patch, refusal string
		object               client.Object
	}{
		{"seedName may change", `{"spec":{"seedName":"b"}}`, "", shoot},
		{"seedName must not go", `{"spec":{"seedName":null}}`, "seedName must not be unset once it is set", shoot},
		{"class shoot is the default", `{"spec":{"class":"shoot"}}`, "", infrastructure},
		{"class must not change", `{"spec":{"class":"seed"}}`, "class is immutable", infrastructure},
		{"class is one of three", `{"spec":{"class":"moon"}}`,
			`Unsupported value: "moon": supported values: "garden", "seed", "shoot"`, infrastructure},
		{"type is needed", `{"spec":{"type":null}}`, "spec.type: Required value", infrastructure},
		{"a managed seed keeps its shoot", `{"spec":{"shoot":{"name":"b"}}}`, "shoot is immutable", managed},
		{"a managed seed has a shoot", `{"spec":{"shoot":null}}`, "spec.shoot: Required value", managed},
		{"a gardenlet may change", `{"spec":{"gardenlet":{"config":{"kind":"GardenletConfiguration"}}}}`, "", managed},
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

// Objects with nothing but what must be set, created and their status updated through our types: no zero value of a
// type is refused.
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
