package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Tolerations are the lists of docs/specification/nodes-and-seeds.md#spec-7-2 that hold in all projects; those of a
// project come beside them.
type Tolerations struct {
	// Defaults are added to new shoots.
	Defaults []gardencorev1beta1.Toleration
	// Whitelist may be used by shoots; an entry without a value allows every value.
	Whitelist []gardencorev1beta1.Toleration
}

// With are the lists that hold in a project. They are the operator's alone if the project has none, or is nil.
func (t Tolerations) With(project *gardencorev1beta1.Project) Tolerations {
	if project == nil || project.Spec.Tolerations == nil {
		return t
	}
	return Tolerations{
		Defaults:  slices.Concat(t.Defaults, project.Spec.Tolerations.Defaults),
		Whitelist: slices.Concat(t.Whitelist, project.Spec.Tolerations.Whitelist),
	}
}

// Missing are the defaults whose keys a new shoot's own tolerations lack, each once: the landscape and the project may
// have the same one. Two defaults with one key and different values are both added, as Gardener does it.
func (t Tolerations) Missing(tolerations []gardencorev1beta1.Toleration) []gardencorev1beta1.Toleration {
	given := map[string]bool{}
	for _, toleration := range tolerations {
		given[toleration.Key] = true
	}
	var missing []gardencorev1beta1.Toleration
	for _, toleration := range t.Defaults {
		if !given[toleration.Key] && !contains(missing, toleration) {
			missing = append(missing, toleration)
		}
	}
	return missing
}

// Judge refuses tolerations that are neither in the whitelist nor among the old ones of the shoot.
func (t Tolerations) Judge(path *field.Path, tolerations, old []gardencorev1beta1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i, toleration := range tolerations {
		allowed := slices.ContainsFunc(t.Whitelist, func(w gardencorev1beta1.Toleration) bool {
			return allows(w, toleration)
		})
		if !allowed && !contains(old, toleration) {
			errs = append(errs, field.Invalid(path.Index(i), describe(toleration),
				"is not in the whitelist of the project or the landscape, which allows: "+t.allowed()))
		}
	}
	return errs
}

// contains is whether a list has a toleration with the same key and value.
func contains(list []gardencorev1beta1.Toleration, toleration gardencorev1beta1.Toleration) bool {
	return slices.ContainsFunc(list, func(t gardencorev1beta1.Toleration) bool {
		return t.Key == toleration.Key && ptr.Equal(t.Value, toleration.Value)
	})
}

func allows(entry, toleration gardencorev1beta1.Toleration) bool {
	return entry.Key == toleration.Key && (entry.Value == nil || ptr.Equal(entry.Value, toleration.Value))
}

func (t Tolerations) allowed() string {
	if len(t.Whitelist) == 0 {
		return "nothing"
	}
	var names []string
	for _, entry := range t.Whitelist {
		names = append(names, describe(entry))
	}
	return strings.Join(names, ", ")
}

func describe(t gardencorev1beta1.Toleration) string {
	if t.Value == nil {
		return t.Key
	}
	return fmt.Sprintf("%s=%s", t.Key, *t.Value)
}

func tolerationsAllowed(r *request, g *garden) field.ErrorList {
	if !r.changesTolerations() {
		return nil
	}
	var old []gardencorev1beta1.Toleration
	if r.old != nil {
		old = r.old.Spec.Tolerations
	}
	return g.tolerations.Judge(field.NewPath("spec", "tolerations"), r.shoot.Spec.Tolerations, old)
}

func (r *request) changesTolerations() bool {
	if r.shoot == nil || len(r.shoot.Spec.Tolerations) == 0 {
		return false
	}
	return r.old == nil || len(differences(nil, r.oldSpec["tolerations"], r.spec["tolerations"])) > 0
}
