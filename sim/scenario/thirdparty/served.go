package thirdparty

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// DefinitionKind is the kind of those objects of extensions that a seed has before all others.
const DefinitionKind = "CustomResourceDefinition"

// ObjectsOn a seed that are there before an extension starts: of its manifests and of its chart.
func ObjectsOn(e landscape.Extension, seed *gardencorev1beta1.Seed) ([]*unstructured.Unstructured, error) {
	objects := slices.Concat(e.Objects...)
	if !e.HasChart() {
		return objects, nil
	}
	installed, err := chart.Install(e, seed)
	if err != nil {
		return nil, fmt.Errorf("render the chart of extension %q: %w", e.Name, err)
	}
	return append(objects, installed.Objects...), nil
}

// Definitions are all that a seed has, each once: those of our types, then those that extensions bring, then those
// that extensions take for granted. The first of a name counts.
func Definitions(extensions []landscape.Extension,
	seed *gardencorev1beta1.Seed) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all := crds.Seed()
	for _, e := range extensions {
		objects, err := ObjectsOn(e, seed)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object.GetKind() != DefinitionKind {
				continue
			}
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
				return nil, fmt.Errorf("read definition %q of extension %q: %w", object.GetName(), e.Name, err)
			}
			all = append(all, definition)
		}
	}
	named := sets.New[string]()
	return slices.DeleteFunc(append(all, crds.Expected()...), func(d *apiextensionsv1.CustomResourceDefinition) bool {
		again := named.Has(d.Name)
		named.Insert(d.Name)
		return again
	}), nil
}

// onByDefault are the versions of Kubernetes' own kinds that an API server serves without being asked to. Those before
// them are off, or were removed.
var onByDefault = regexp.MustCompile(`^v\d+$`)

// servedVersions are the versions of each kind that a seed serves with these extensions.
func servedVersions(extensions []landscape.Extension,
	seed *gardencorev1beta1.Seed) (map[schema.GroupKind][]string, error) {
	definitions, err := Definitions(extensions, seed)
	if err != nil {
		return nil, err
	}
	served := map[schema.GroupKind][]string{
		{Group: "apiextensions.k8s.io", Kind: DefinitionKind}: {"v1"},
		{Group: "apiregistration.k8s.io", Kind: "APIService"}: {"v1"},
	}
	for kind := range clientgoscheme.Scheme.AllKnownTypes() {
		if onByDefault.MatchString(kind.Version) {
			served[kind.GroupKind()] = append(served[kind.GroupKind()], kind.Version)
		}
	}
	for _, d := range definitions {
		kind := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
		for _, version := range d.Spec.Versions {
			if version.Served {
				served[kind] = append(served[kind], version.Name)
			}
		}
	}
	return served, nil
}

// checkServed finds objects of kinds that no seed serves: their definitions are in none of the files.
func (f *Flag) checkServed(extensions []landscape.Extension) []error {
	seed, err := scenario.SampleSeed(extensions...)
	if err != nil {
		return []error{err}
	}
	served, err := servedVersions(extensions, seed)
	if err != nil {
		return []error{err}
	}
	var errs []error
	for i, e := range extensions {
		check := func(path string, objects []*unstructured.Unstructured) {
			said := sets.New[schema.GroupVersionKind]()
			for _, object := range objects {
				kind := object.GroupVersionKind()
				versions := served[kind.GroupKind()]
				if slices.Contains(versions, kind.Version) || said.Has(kind) {
					continue
				}
				said.Insert(kind)
				remedy := "add the YAML file of its " + DefinitionKind + " to spec.manifests"
				if len(versions) > 0 {
					slices.Sort(versions)
					remedy = "it is served as " + strings.Join(versions, ", ") + "; change the object, or " + remedy
				}
				errs = append(errs, scenario.ExtensionMistake(f.Files[i], e, path, fmt.Sprintf(
					"%s %q is of %s, which no seed serves; %s", kind.Kind, object.GetName(), kind.GroupVersion(), remedy)))
			}
		}
		for m, objects := range e.Objects {
			check(fmt.Sprintf("spec.manifests[%d]", m), objects)
		}
		if !e.HasChart() {
			continue
		}
		installed, err := chart.Install(e, seed)
		if err != nil {
			return append(errs, err)
		}
		path := "spec.chart"
		if e.Chart == "" {
			path = "spec.registration"
		}
		check(path, installed.Objects)
	}
	return errs
}
