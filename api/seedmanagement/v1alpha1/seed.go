package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Type of spec.gardenlet.config.
const (
	gardenletConfigVersion = "gardenlet.config.gardener.cloud/v1alpha1"
	gardenletConfigKind    = "GardenletConfiguration"
)

// SeedConfigPath is the field that describes the Seed.
func SeedConfigPath() *field.Path { return field.NewPath("spec", "gardenlet", "config", "seedConfig") }

// Seed is the Seed that spec.gardenlet.config.seedConfig describes, as on the wire: with labels, annotations and
// specification, and the name of the ManagedSeed. It is nil if the ManagedSeed has no gardenlet. The error names the
// field that cannot be read.
func (m *ManagedSeed) Seed() (*unstructured.Unstructured, *field.Error) {
	if m.Spec.Gardenlet == nil {
		return nil, nil
	}
	of, path := field.NewPath("spec", "gardenlet", "config"), SeedConfigPath()
	config := struct {
		metav1.TypeMeta `json:",inline"`
		SeedConfig      struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     map[string]any    `json:"spec"`
		} `json:"seedConfig"`
	}{}
	if m.Spec.Gardenlet.Config == nil {
		return nil, field.Required(path, "must describe the Seed")
	}
	raw := m.Spec.Gardenlet.Config.Raw
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, field.Invalid(of, string(raw), err.Error())
	}
	if config.APIVersion != gardenletConfigVersion || config.Kind != gardenletConfigKind {
		return nil, field.Invalid(of, config.APIVersion+" "+config.Kind,
			fmt.Sprintf("must be of apiVersion %s and kind %s", gardenletConfigVersion, gardenletConfigKind))
	}
	if config.SeedConfig.Spec == nil {
		return nil, field.Required(path.Child("spec"), "must describe the Seed")
	}
	seed := &unstructured.Unstructured{Object: map[string]any{"spec": config.SeedConfig.Spec}}
	seed.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Seed"))
	seed.SetName(m.Name)
	seed.SetLabels(config.SeedConfig.Metadata.Labels)
	seed.SetAnnotations(config.SeedConfig.Metadata.Annotations)
	return seed, nil
}
