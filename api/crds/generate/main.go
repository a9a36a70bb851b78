// Command generate finishes the CustomResourceDefinitions that controller-gen wrote into a folder: it makes every
// object in the schemas of Gardener's groups keep the fields that our types do not have. Markers can say that of a
// field, but not of everything below it, nor of types that are not ours.
//
// It is run by go generate and changes nothing when run again.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// ownGroup is the group that nobody but us writes: its objects have no fields that we do not know.
const ownGroup = "transplant.dev"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	if err := finish(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func finish(folder string) error {
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the definitions in %q: %w", folder, err)
	}
	if len(names) == 0 {
		return fmt.Errorf("no definitions in %q", folder)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := finishFile(name); err != nil {
			return fmt.Errorf("finish the definition %q: %w", name, err)
		}
	}
	return nil
}

func finishFile(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, definition); err != nil {
		return err
	}
	if definition.Spec.Group != ownGroup {
		for i := range definition.Spec.Versions {
			root := definition.Spec.Versions[i].Schema.OpenAPIV3Schema
			preserve(root)
			// The API server looks after metadata itself and refuses a schema for it.
			root.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
	}
	if data, err = marshal(definition); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// preserve makes a schema and everything below it keep unknown fields. Maps are left alone: they have none.
func preserve(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	if schema.Type == "object" && schema.AdditionalProperties == nil {
		schema.XPreserveUnknownFields = ptr.To(true)
	}
	for name, property := range schema.Properties {
		preserve(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		preserve(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		preserve(schema.AdditionalProperties.Schema)
	}
}

// marshal writes a definition without the empty status that the Go type always has.
func marshal(definition *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	data, err := yaml.Marshal(definition)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	return yaml.Marshal(object)
}
