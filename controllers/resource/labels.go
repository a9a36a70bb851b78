package resource

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// inject sets labels on an object and on the pods and volume claims that it makes.
func inject(object *unstructured.Unstructured, labels map[string]string) error {
	object.SetLabels(merged(object.GetLabels(), labels))
	if _, found, _ := unstructured.NestedMap(object.Object, "spec", "template"); found {
		if err := injectAt(object.Object, labels, "spec", "template", "metadata", "labels"); err != nil {
			return err
		}
	}
	claims, found, err := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	if err != nil || !found {
		return err
	}
	for i := range claims {
		claim, ok := claims[i].(map[string]any)
		if !ok {
			return fmt.Errorf("spec.volumeClaimTemplates[%d] is not an object", i)
		}
		if err := injectAt(claim, labels, "metadata", "labels"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, claims, "spec", "volumeClaimTemplates")
}

func injectAt(content map[string]any, labels map[string]string, path ...string) error {
	present, _, err := unstructured.NestedStringMap(content, path...)
	if err != nil {
		return err
	}
	return unstructured.SetNestedStringMap(content, merged(present, labels), path...)
}
