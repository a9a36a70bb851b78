// Package toleration says which tolerations shoots get by default, and which ones they may have
// (docs/specification/nodes-and-seeds.md#spec-7-2). It also reads the lists that hold in all projects from Gardener's
// files. Which seeds a shoot with its tolerations fits on is for package placement to say.
package toleration

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Lists are those of docs/specification/nodes-and-seeds.md#spec-7-2 that hold in all projects; those of a
// project come beside them.
type Lists struct {
	// Defaults are added to new shoots.
	Defaults []gardencorev1beta1.Toleration
	// Whitelist may be used by shoots; an entry without a value allows every value.
	Whitelist []gardencorev1beta1.Toleration
}

// With are the lists that hold in a project. They are the operator's alone if the project has none, or is nil.
func (l Lists) With(project *gardencorev1beta1.Project) Lists {
	if project == nil || project.Spec.Tolerations == nil {
		return l
	}
	return Lists{
		Defaults:  slices.Concat(l.Defaults, project.Spec.Tolerations.Defaults),
		Whitelist: slices.Concat(l.Whitelist, project.Spec.Tolerations.Whitelist),
	}
}

// Missing are the defaults whose keys a new shoot's own tolerations lack, each once: the landscape and the project may
// have the same one. Two defaults with one key and different values are both added, as Gardener does it.
func (l Lists) Missing(tolerations []gardencorev1beta1.Toleration) []gardencorev1beta1.Toleration {
	given := map[string]bool{}
	for _, toleration := range tolerations {
		given[toleration.Key] = true
	}
	var missing []gardencorev1beta1.Toleration
	for _, toleration := range l.Defaults {
		if !given[toleration.Key] && !contains(missing, toleration) {
			missing = append(missing, toleration)
		}
	}
	return missing
}

// Judge refuses tolerations that are neither in the whitelist nor among the old ones of the shoot.
func (l Lists) Judge(path *field.Path, tolerations, old []gardencorev1beta1.Toleration) field.ErrorList {
	var errs field.ErrorList
	for i, toleration := range tolerations {
		allowed := slices.ContainsFunc(l.Whitelist, func(w gardencorev1beta1.Toleration) bool {
			return allows(w, toleration)
		})
		if !allowed && !contains(old, toleration) {
			errs = append(errs, field.Invalid(path.Index(i), describe(toleration),
				"is not in the whitelist of the project or the landscape, which allows: "+l.allowed()))
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

func (l Lists) allowed() string {
	if len(l.Whitelist) == 0 {
		return "nothing"
	}
	var names []string
	for _, entry := range l.Whitelist {
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
