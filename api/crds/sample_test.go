package crds_test

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// sampler makes values that a schema accepts, with every field set.
type sampler struct {
	unknown bool // also set a field that the schema does not have, in every object
}

func (s sampler) value(schema apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(schema.Enum) > 0:
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	case schema.XIntOrString:
		return "1"
	}
	switch schema.Type {
	case "object":
		return s.object(schema)
	case "array":
		return []any{s.value(*schema.Items.Schema)}
	case "integer":
		return int64(max(1, ptr.Deref(schema.Minimum, 1)))
	case "number":
		return 0.5
	case "boolean":
		return true
	case "string":
		return sampleString(schema)
	}
	return map[string]any{"notModelled": "kept"} // of any type
}

func (s sampler) object(schema apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{}
	if schema.AdditionalProperties != nil {
		object["key"] = s.value(*schema.AdditionalProperties.Schema)
	}
	if s.unknown && schema.AdditionalProperties == nil {
		object["notModelled"] = map[string]any{"deep": []any{map[string]any{"er": "kept"}}}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		object[name] = s.value(schema.Properties[name])
	}
	return object
}

func sampleString(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.Format == "date-time":
		return "2026-11-21T09:53:14Z"
	case schema.Format == "byte":
		return "a2VwdA=="
	case schema.Pattern == "^[0-9a-f]{64}$":
		return strings.Repeat("0", 64)
	}
	return "kept"
}
