package placement

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// anyProvider in a list of provider types fits all.
const anyProvider = "*"

func profileSelects(q *Question, seed *gardencorev1beta1.Seed) string {
	if q.Profile == nil || q.Profile.Spec.SeedSelector == nil {
		return ""
	}
	return selects(q.Profile.Spec.SeedSelector, seed, fmt.Sprintf("the seed selector of CloudProfile %q", q.Profile.Name))
}

func shootSelects(q *Question, seed *gardencorev1beta1.Seed) string {
	selector := q.Shoot.Spec.SeedSelector
	if selector == nil {
		return ""
	}
	if why := selects(selector, seed, "spec.seedSelector"); why != "" {
		return why
	}
	return provided(selector.ProviderTypes, seed, "spec.seedSelector")
}

func selects(wanted *gardencorev1beta1.SeedSelector, seed *gardencorev1beta1.Seed, whose string) string {
	selector, err := metav1.LabelSelectorAsSelector(&wanted.LabelSelector)
	switch {
	case err != nil:
		return fmt.Sprintf("cannot be judged: %s is invalid: %v", whose, err)
	case !selector.Matches(labels.Set(seed.Labels)):
		return fmt.Sprintf("does not have the labels of %s: %s", whose, selector)
	}
	return ""
}

// profileProvider asks for a provider type only where the profile lists some.
func profileProvider(q *Question, seed *gardencorev1beta1.Seed) string {
	if q.Profile == nil || q.Profile.Spec.SeedSelector == nil {
		return ""
	}
	return provided(q.Profile.Spec.SeedSelector.ProviderTypes, seed, fmt.Sprintf("CloudProfile %q", q.Profile.Name))
}

// providerFits asks for the shoot's own provider type where the profile lists none.
func providerFits(q *Question, seed *gardencorev1beta1.Seed) string {
	if q.Profile == nil || q.Profile.Spec.SeedSelector == nil || len(q.Profile.Spec.SeedSelector.ProviderTypes) == 0 {
		return provided([]string{q.Shoot.Spec.Provider.Type}, seed, "spec.provider.type")
	}
	return profileProvider(q, seed)
}

func provided(types []string, seed *gardencorev1beta1.Seed, whose string) string {
	if len(types) == 0 || slices.Contains(types, anyProvider) || slices.Contains(types, seed.Spec.Provider.Type) {
		return ""
	}
	return fmt.Sprintf("has provider type %q, and %s wants one of: %s", seed.Spec.Provider.Type, whose,
		strings.Join(types, ", "))
}
