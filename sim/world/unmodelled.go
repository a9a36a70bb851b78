package world

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// unmodelledField of a Shoot's spec is one that no type of ours has, as there are many in a Gardener that is newer.
const unmodelledField = "unmodelledByTransplant"

// WithUnmodelled is the Shoot with something that our types do not know. Whoever writes the Shoot back as he has
// understood it loses that.
func WithUnmodelled(shoot *gardencorev1beta1.Shoot) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shoot)
	if err != nil {
		return nil, fmt.Errorf("encode the Shoot %q: %w", shoot.Name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	value := map[string]any{"shallKeep": []any{int64(1), map[string]any{"deep": "yes"}}}
	if err := unstructured.SetNestedField(object.Object, value, "spec", unmodelledField); err != nil {
		return nil, fmt.Errorf("mark the Shoot %q: %w", shoot.Name, err)
	}
	return object, nil
}

// Unmodelled is what WithUnmodelled has set, in JSON; "" when nothing is there.
func Unmodelled(shoot *unstructured.Unstructured) string {
	value, found, err := unstructured.NestedFieldNoCopy(shoot.Object, "spec", unmodelledField)
	if err != nil || !found {
		return ""
	}
	content, _ := json.Marshal(value) // it was JSON
	return string(content)
}
