// Package crds has the CustomResourceDefinitions of the API types, as generated from them: what a garden and a seed
// must be given before our controllers, or Gardener's extensions, can run on them.
//
// Every object in the schemas of Gardener's groups keeps fields that the types do not have, so that objects written by
// others survive. The package installs nothing.
package crds

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:generate -command controller-gen go tool controller-gen object crd:allowDangerousTypes=true output:crd:dir=.
//go:generate controller-gen paths=../core/v1beta1 paths=../extensions/v1alpha1 paths=../machine/v1alpha1
//go:generate controller-gen paths=../resources/v1alpha1 paths=../security/v1alpha1 paths=../transplant/v1alpha1
//go:generate controller-gen paths=../seedmanagement/v1alpha1
//go:generate go run ./generate .

//go:embed *.yaml
var files embed.FS

// parsed is computed once: the definitions are embedded, so it can only fail in a way that the test of this package
// sees.
var parsed = sync.OnceValue(func() []*apiextensionsv1.CustomResourceDefinition {
	definitions, err := parse(files)
	if err != nil {
		panic(err)
	}
	return definitions
})

// All returns all definitions, sorted by name of group and resource. The caller may change them.
func All() []*apiextensionsv1.CustomResourceDefinition {
	return selectGroups(func(string) bool { return true })
}

// Garden returns the definitions for a garden: Gardener's core, security and seedmanagement groups, and
// our own.
func Garden() []*apiextensionsv1.CustomResourceDefinition { return selectGroups(inGarden) }

// Seed returns the definitions for a seed: extension objects, machines and managed resources.
func Seed() []*apiextensionsv1.CustomResourceDefinition {
	return selectGroups(func(group string) bool { return !inGarden(group) })
}

func inGarden(group string) bool {
	switch group {
	case "core.gardener.cloud", "security.gardener.cloud", "seedmanagement.gardener.cloud", "transplant.dev":
		return true
	}
	return false
}

func selectGroups(wanted func(group string) bool) []*apiextensionsv1.CustomResourceDefinition {
	var selected []*apiextensionsv1.CustomResourceDefinition
	for _, definition := range parsed() {
		if wanted(definition.Spec.Group) {
			selected = append(selected, definition.DeepCopy())
		}
	}
	return selected
}

func parse(dir fs.ReadDirFS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := dir.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the embedded definitions: %w", err)
	}
	definitions := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(entries))
	for _, entry := range entries {
		data, err := fs.ReadFile(dir, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the definition %q: %w", entry.Name(), err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("parse the definition %q: %w", entry.Name(), err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}
