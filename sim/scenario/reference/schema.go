// Package reference documents the file format for people and editors: a page with every word that may stand in a
// scenario, and JSON Schemas.
//
// Both are made of the Go types and their comments. No file is checked by the schemas: package scenario says better
// what is wrong with one (docs/adr/0019-files-are-checked-by-their-types.md).
package reference

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/fields"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/step/manifest"
	"github.com/transplant-sim/transplant/sim/world"
)

const schemaIDs = "https://transplant.dev/schemas/"

// sources of the types of the format, relative to package scenario. Their comments are the descriptions in the schema.
var sources = []string{".", "../step", "../fault", "../landscape", "../expression", "../oracle", "../../clusters/link"}

// Schema is the JSON Schema of the file format, generated from the Go types. It reads the sources of package scenario,
// and so must be called from its folder.
func Schema() ([]byte, error) {
	return generate(&scenario.Scenario{},
		"A scenario: what its landscape needs, what happens on it, and what must be true then.", restrictions)
}

// ExtensionSchema is that of files about third-party extensions, made in the same way.
func ExtensionSchema() ([]byte, error) {
	return generate(&scenario.ExtensionDeployment{},
		"A third-party extension controller, which runs on every seed of a landscape.", extensionRestrictions)
}

func generate(of any, about string, restrictions map[string]func(*jsonschema.Schema)) ([]byte, error) {
	r, err := reflector()
	if err != nil {
		return nil, err
	}
	form := reflect.TypeOf(of).Elem()
	schema := r.Reflect(of)
	schema.ID = jsonschema.ID(schemaIDs + strings.ToLower(form.Name()) + ".v1alpha1.json")
	schema.Title = form.Name()
	schema.Description = about
	for name, restrict := range restrictions {
		definition := schema.Definitions[name]
		if definition == nil {
			return nil, fmt.Errorf("restrict the schema of %q: there is no such type", name)
		}
		restrict(definition)
	}
	withoutZeros(schema, form, map[reflect.Type]bool{})
	content, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("marshal the schema: %w", err)
	}
	return append(content, '\n'), nil
}

// reflector knows the comments of the types.
func reflector() (*jsonschema.Reflector, error) {
	r := &jsonschema.Reflector{Anonymous: true, Mapper: schemaOf, Namer: schemaName}
	for _, folder := range sources {
		if err := r.AddGoComments(reflect.TypeFor[scenario.Scenario]().PkgPath(), folder); err != nil {
			return nil, fmt.Errorf("read the comments in %q: %w", folder, err)
		}
	}
	return r, nil
}

// restrictions add what Go types do not say.
var restrictions = map[string]func(*jsonschema.Schema){
	"Scenario": func(s *jsonschema.Schema) {
		property(s, "apiVersion").Const = scenario.APIVersion
		property(s, "kind").Const = scenario.Kind
	},
	"Metadata": func(s *jsonschema.Schema) { // labels are those of Kubernetes
		labels := property(s, "labels")
		labels.PropertyNames = &jsonschema.Schema{
			Pattern: `^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`,
		}
		labels.AdditionalProperties.MaxLength = number(uint64(validation.LabelValueMaxLength))
		labels.AdditionalProperties.Pattern = `^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	},
	"Spec":      func(s *jsonschema.Schema) { property(s, "steps").MinItems = number(1) },
	"Landscape": func(s *jsonschema.Schema) { property(s, "seeds").MinItems = number(1) },
	"Shoot": func(s *jsonschema.Schema) {
		property(s, "kubernetes").Enum = choices(landscape.Kubernetes())
		property(s, "image").Enum = choices(landscape.Images())
	},
	"Step": func(s *jsonschema.Schema) { // exactly one verb
		s.MinProperties, s.MaxProperties = number(1), number(1)
	},
	"Inject": func(s *jsonschema.Schema) { // a name, exactly one fault, and maybe when
		s.MinProperties, s.MaxProperties = number(2), number(3)
	},
	"Patch": func(s *jsonschema.Schema) { // of exactly one object
		s.OneOf = []*jsonschema.Schema{{Required: []string{"shoot"}}, {Required: []string{"cloudProfile"}}}
	},
	"When": func(s *jsonschema.Schema) { // exactly one trigger
		s.MinProperties, s.MaxProperties = number(1), number(1)
	},
}

// extensionRestrictions do so for files about extensions.
var extensionRestrictions = map[string]func(*jsonschema.Schema){
	"ExtensionDeployment": func(s *jsonschema.Schema) {
		property(s, "apiVersion").Const = scenario.APIVersion
		property(s, "kind").Const = scenario.ExtensionKind
	},
	"Extension": func(s *jsonschema.Schema) {
		property(s, "resources").MinItems = number(1)
		one := func(fields ...string) *jsonschema.Schema {
			either := &jsonschema.Schema{}
			for _, field := range fields {
				either.AnyOf = append(either.AnyOf, &jsonschema.Schema{Required: []string{field}})
			}
			return either
		}
		s.AllOf = []*jsonschema.Schema{one("resources", "registration"), one("binary", "image", "chart", "registration")}
		s.Not = &jsonschema.Schema{Required: []string{"binary", "image"}}
	},
	"ExtensionResource": func(s *jsonschema.Schema) { property(s, "kind").Enum = choices(landscape.ExtensionKinds()) },
}

// withoutZeros forbids the zeros that the decoder refuses, in a type and in those of its fields.
func withoutZeros(s *jsonschema.Schema, of reflect.Type, seen map[reflect.Type]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	definition := s.Definitions[schemaName(of)]
	if seen[of] || definition == nil {
		return
	}
	seen[of] = true
	for _, f := range reflect.VisibleFields(of) {
		name, _ := fields.Tag(f)
		switch {
		case !fields.MeansAbsence(f):
			withoutZeros(s, f.Type, seen)
		case f.Type == reflect.TypeFor[metav1.Duration]():
			property(definition, name).Not = &jsonschema.Schema{Pattern: `^(0+(\.0+)?[a-zµ]+)+$`}
		default:
			property(definition, name).Minimum = "1"
		}
	}
}

func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	found, _ := s.Properties.Get(name)
	return found
}

func number(n uint64) *uint64 { return &n }

// names of types whose Go names say too little outside their packages.
func schemaName(t reflect.Type) string {
	if t == reflect.TypeFor[step.Spec]() {
		return "Step"
	}
	return t.Name()
}

// schemaOf are the types that are written as text.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
			Description: `a duration such as "30s"`}
	case reflect.TypeFor[resource.Quantity]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(k|M|G|Ki|Mi|Gi)?$`,
			Description: `a quantity such as "64Ki"`}
	case reflect.TypeFor[scenario.Oracle]():
		return enumeration(oracle.Names())
	case reflect.TypeFor[landscape.Purpose]():
		return enumeration(landscape.Purpose("").Values())
	case reflect.TypeFor[landscape.Nodes]():
		return enumeration(landscape.Nodes("").Values())
	case reflect.TypeFor[landscape.UpdateStrategy]():
		return enumeration(landscape.UpdateStrategy("").Values())
	case reflect.TypeFor[wire.Direction]():
		return enumeration([]string{string(wire.Both), string(wire.ToServer), string(wire.ToClient)})
	case reflect.TypeFor[requests.Moment]():
		return enumeration([]string{string(requests.Before), string(requests.After)})
	case reflect.TypeFor[world.Backup]():
		return enumeration([]string{string(world.AnyBackup), string(world.FullBackup), string(world.DeltaBackup)})
	case reflect.TypeFor[chaosmesh.Experiment]():
		return experiment()
	case reflect.TypeFor[mergepatch.Merge]():
		return merge()
	case reflect.TypeFor[manifest.Object]():
		return object()
	case reflect.TypeFor[mergepatch.Part](), reflect.TypeFor[runtime.RawExtension]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[step.Heal]():
		return &jsonschema.Schema{Type: "string", Description: "the name of the fault that ends"}
	}
	return nil
}

// experiment is an object of Chaos Mesh, whose own schema says the rest.
func experiment() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Required: []string{"apiVersion", "kind", "spec"}, Properties: jsonschema.NewProperties(),
		Description: "a PodChaos, a NetworkChaos or an HTTPChaos of Chaos Mesh",
	}
	s.Properties.Set("apiVersion", &jsonschema.Schema{Const: "chaos-mesh.org/v1alpha1"})
	s.Properties.Set("kind", enumeration(chaosmesh.Kinds()))
	s.Properties.Set("metadata", &jsonschema.Schema{Type: "object"})
	s.Properties.Set("spec", &jsonschema.Schema{Type: "object"})
	return s
}

// object is one of a shoot's API, which says the rest.
func object() *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string", MinLength: number(1)}
	metadata := &jsonschema.Schema{Type: "object", Required: []string{"name"}, Properties: jsonschema.NewProperties()}
	metadata.Properties.Set("name", text)
	metadata.Properties.Set("namespace", text)
	s := &jsonschema.Schema{Type: "object", Required: []string{"apiVersion", "kind", "metadata"},
		Properties: jsonschema.NewProperties(), Description: "an object of the shoot's API"}
	s.Properties.Set("apiVersion", text)
	s.Properties.Set("kind", text)
	s.Properties.Set("metadata", metadata)
	return s
}

// merge is a part of an object; the type of the object says the rest.
func merge() *jsonschema.Schema {
	text := &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "null"}}}
	texts := &jsonschema.Schema{Type: "object", AdditionalProperties: text}
	metadata := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema}
	metadata.Properties.Set("annotations", texts)
	metadata.Properties.Set("labels", texts)
	s := &jsonschema.Schema{
		Type: "object", MinProperties: number(1), Properties: jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
		Description:          "a JSON merge patch: null removes a field, a list replaces the whole list",
	}
	s.Properties.Set("metadata", metadata)
	s.Properties.Set("spec", &jsonschema.Schema{Type: "object"})
	return s
}

func enumeration(values []string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: choices(values)}
}

func choices(values []string) []any {
	var all []any
	for _, value := range values {
		all = append(all, value)
	}
	return all
}
