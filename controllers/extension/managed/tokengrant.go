package managed

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// tokenGrants defines, in a shoot, the objects by which its users say who may have the extension's token. The
// definition is the extension's, the objects are the users': who deletes the definition deletes them.
func tokenGrants() *unstructured.Unstructured {
	text := map[string]any{"type": "string"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "tokengrants.credentials.transplant.dev"},
		"spec": map[string]any{
			"group": "credentials.transplant.dev",
			"scope": "Namespaced",
			"names": map[string]any{"plural": "tokengrants", "singular": "tokengrant", "kind": "TokenGrant",
				"listKind": "TokenGrantList"},
			"versions": []any{map[string]any{
				"name": "v1alpha1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{"spec": map[string]any{
						"type": "object", "required": []any{"serviceAccountName"},
						"properties": map[string]any{"serviceAccountName": text},
					}},
				}},
			}},
		},
	}}
}
