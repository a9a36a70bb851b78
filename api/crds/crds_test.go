package crds_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	securityv1alpha1 "github.com/transplant-sim/transplant/api/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		gardencorev1beta1.AddToScheme, extensionsv1alpha1.AddToScheme, machinev1alpha1.AddToScheme,
		resourcesv1alpha1.AddToScheme, securityv1alpha1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
		transplantv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func gvk(definition *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionKind {
	return schema.GroupVersionKind{
		Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Kind: definition.Spec.Names.Kind,
	}
}

// Whoever adds a type gets a definition, and nothing is left of types that went.
func TestEveryTypeHasADefinition(t *testing.T) {
	t.Parallel()
	var want, got []string
	for kind, goType := range newScheme(t).AllKnownTypes() {
		if strings.HasPrefix(goType.PkgPath(), "k8s.io/") || strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		want = append(want, kind.String())
	}
	for _, definition := range crds.All() {
		got = append(got, gvk(definition).String())
		if len(definition.Spec.Versions) != 1 {
			t.Errorf("%s has %d versions", definition.Name, len(definition.Spec.Versions))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-with a type +with a definition):\n%s", diff)
	}
}

func TestGardenAndSeed(t *testing.T) {
	t.Parallel()
	groups := func(definitions []*apiextensionsv1.CustomResourceDefinition) []string {
		var groups []string
		for _, definition := range definitions {
			groups = append(groups, definition.Spec.Group)
		}
		return slices.Compact(groups)
	}
	garden := []string{"core.gardener.cloud", "security.gardener.cloud", "seedmanagement.gardener.cloud", "transplant.dev"}
	if diff := cmp.Diff(garden, groups(crds.Garden())); diff != "" {
		t.Errorf("groups of a garden (-want +got):\n%s", diff)
	}
	want := []string{"extensions.gardener.cloud", "machine.sapcloud.io", "resources.gardener.cloud"}
	if diff := cmp.Diff(want, groups(crds.Seed())); diff != "" {
		t.Errorf("groups of a seed (-want +got):\n%s", diff)
	}
	if len(crds.Garden())+len(crds.Seed()) != len(crds.All()) {
		t.Error("a definition is in neither or in both")
	}
	crds.All()[0].Name = "changed"
	if crds.All()[0].Name == "changed" {
		t.Error("a change of the caller has changed what others get")
	}
}

// The list of kinds agrees with the definitions, so that walkers may build URLs from it.
func TestKindsAgreeWithDefinitions(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, definition := range crds.Seed() {
		kind, ok := extensionsv1alpha1.KindByName(definition.Spec.Names.Kind)
		if !ok || definition.Spec.Group != extensionsv1alpha1.GroupName {
			continue
		}
		seen++
		if namespaced := definition.Spec.Scope == apiextensionsv1.NamespaceScoped; kind.Namespaced != namespaced {
			t.Errorf("%s: namespaced is %v, the definition says %v", kind.Name, kind.Namespaced, namespaced)
		}
		if kind.Resource != definition.Spec.Names.Plural {
			t.Errorf("%s: the resource is %s, the definition says %s", kind.Name, kind.Resource, definition.Spec.Names.Plural)
		}
	}
	if seen != len(extensionsv1alpha1.Kinds()) {
		t.Errorf("%d kinds have a definition, want %d", seen, len(extensionsv1alpha1.Kinds()))
	}
}

func TestStatusSubresource(t *testing.T) {
	t.Parallel()
	want := []string{
		"clusters.extensions.gardener.cloud", "controllerregistrations.core.gardener.cloud",
		"credentialsbindings.security.gardener.cloud", "machineclasses.machine.sapcloud.io",
		"secretbindings.core.gardener.cloud", "shootstatechunks.transplant.dev", "shootstates.core.gardener.cloud",
	}
	var got []string
	for _, definition := range crds.All() {
		if sub := definition.Spec.Versions[0].Subresources; sub == nil || sub.Status == nil {
			got = append(got, definition.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions without status (-want +got):\n%s", diff)
	}
}

// Every object below spec and status keeps unknown fields, except in our own group.
func TestEveryObjectKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	for _, definition := range crds.All() {
		root := *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		delete(root.Properties, "metadata")
		if definition.Spec.Group == "transplant.dev" {
			if got := pruned("", root); len(got) != 1 {
				t.Errorf("%s: objects that lose unknown fields: %q, want the root alone", definition.Name, got)
			}
			continue
		}
		for _, path := range pruned("", root) {
			t.Errorf("%s: %q loses unknown fields", definition.Name, path)
		}
	}
}

func pruned(path string, s apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	if s.Type == "object" && s.AdditionalProperties == nil && !ptr.Deref(s.XPreserveUnknownFields, false) {
		found = append(found, path)
	}
	for name, property := range s.Properties {
		found = append(found, pruned(path+"."+name, property)...)
	}
	if s.Items != nil {
		found = append(found, pruned(path+"[]", *s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil {
		found = append(found, pruned(path+"[*]", *s.AdditionalProperties.Schema)...)
	}
	return found
}

// A definition must fit into one request with room to spare.
func TestSize(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(entry.Name(), ".yaml") && info.Size() >= 1<<20 {
			t.Errorf("%s has %d bytes", entry.Name(), info.Size())
		}
	}
}
