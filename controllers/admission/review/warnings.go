package review

import (
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/json"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation/fields"
)

// Warnings are those for what is created or updated. They are for what clients have written themselves, so they are
// given before defaults are filled in. What cannot be read is refused.
func Warnings(raw *admissionv1.AdmissionRequest) []string {
	empty := map[string]func() any{
		"Shoot":        func() any { return &gardencorev1beta1.Shoot{} },
		"CloudProfile": func() any { return &gardencorev1beta1.CloudProfile{} },
		"Seed":         func() any { return &gardencorev1beta1.Seed{} },
		"Project":      func() any { return &gardencorev1beta1.Project{} },
	}[raw.Kind.Kind]
	var object, old map[string]any
	if empty == nil || len(raw.Object.Raw) == 0 || json.Unmarshal(raw.Object.Raw, &object) != nil {
		return nil
	}
	if len(raw.OldObject.Raw) > 0 && json.Unmarshal(raw.OldObject.Raw, &old) != nil {
		return nil
	}
	return append(fields.Warnings(raw.Kind.Kind, object, old),
		fields.Unknown(raw.Object.Raw, raw.OldObject.Raw, empty)...)
}
