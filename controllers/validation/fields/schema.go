package fields

import (
	"maps"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/transplant-sim/transplant/api/crds"
)

// Leaf is a field of a specification that has no fields of its own: a value.
type Leaf struct {
	// Path is as in a Row.
	Path string
	// Type is that of the schema; "quantity" and "number or percentage" stand for values that may be numbers or text.
	Type string
}

const (
	typeQuantity = "quantity"
	typeBound    = "number or percentage"
	typeDate     = "date-time"
)

// Leaves are the values in the specification of a kind, as its CustomResourceDefinition has them, in order.
func Leaves(kind string) []Leaf {
	root := specs()[kind]
	if root == nil {
		return nil
	}
	return leaves("spec", root)
}

// specs are the schemas of the specifications by kind. They are read only.
var specs = sync.OnceValue(func() map[string]*apiextensionsv1.JSONSchemaProps {
	all := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, definition := range crds.Garden() {
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		all[definition.Spec.Names.Kind] = &spec
	}
	return all
})

func leaves(path string, schema *apiextensionsv1.JSONSchemaProps) []Leaf {
	switch {
	case len(schema.Properties) > 0:
		var all []Leaf
		for _, name := range sets.List(sets.KeySet(schema.Properties)) {
			property := schema.Properties[name]
			all = append(all, leaves(path+"."+name, &property)...)
		}
		return all
	case schema.Items != nil:
		return leaves(path+"[]", schema.Items.Schema)
	case schema.AdditionalProperties != nil:
		return leaves(path+"{}", schema.AdditionalProperties.Schema)
	}
	return []Leaf{{Path: path, Type: typeOf(schema)}}
}

func typeOf(schema *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.XIntOrString && schema.Pattern != "":
		return typeQuantity
	case schema.XIntOrString:
		return typeBound
	case schema.Format == typeDate:
		return typeDate
	}
	return schema.Type
}

// values calls visit for each value of an object that the schema knows, in order, with its path as in a Row, and its
// path in the object.
func values(object any, schema *apiextensionsv1.JSONSchemaProps, path, place string,
	visit func(path, place string, value any)) {
	switch {
	case object == nil:
	case len(schema.Properties) > 0:
		fields, _ := object.(map[string]any)
		for _, name := range sets.List(sets.KeySet(fields)) {
			if property, known := schema.Properties[name]; known {
				values(fields[name], &property, path+"."+name, place+"."+name, visit)
			}
		}
	case schema.Items != nil:
		items, _ := object.([]any)
		for i, item := range items {
			values(item, schema.Items.Schema, path+"[]", indexed(place, i), visit)
		}
	case schema.AdditionalProperties != nil:
		fields, _ := object.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			values(fields[key], schema.AdditionalProperties.Schema, path+"{}", place+"["+key+"]", visit)
		}
	default:
		visit(path, place, object)
	}
}
