package crds_test

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// sample returns a value that a schema accepts, with every field set, and with one more field, that the schema does not
// have, in every object.
func sample(schema apiextensionsv1.JSONSchemaProps) any {
	switch {
	case len(schema.Enum) > 0:
		return strings.Trim(string(schema.Enum[0].Raw), `"`)
	case schema.XIntOrString:
		return "1"
	}
	switch schema.Type {
	case "object":
		return sampleObject(schema)
	case "array":
		return []any{sample(*schema.Items.Schema)}
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

func sampleObject(schema apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{}
	if schema.AdditionalProperties != nil {
		object["key"] = sample(*schema.AdditionalProperties.Schema)
	}
	if ptr.Deref(schema.XPreserveUnknownFields, false) {
		object["notModelled"] = map[string]any{"deep": []any{map[string]any{"er": "kept"}}}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		object[name] = sample(schema.Properties[name])
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
