package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

// An object that was stored without a required field can be corrected: the field cannot change once it is set.
func TestChange_RequiredFieldThatWasEmpty_CanBeSet(t *testing.T) {
	t.Parallel()
	shoot := func(value string) *gardencorev1beta1.Shoot {
		s := &gardencorev1beta1.Shoot{}
		s.Spec.Region, s.Spec.Provider.Type = value, value
		return s
	}
	profile := func(value string) *gardencorev1beta1.CloudProfile {
		p := &gardencorev1beta1.CloudProfile{}
		p.Spec.Type = value
		return p
	}
	seed := func(value string) *gardencorev1beta1.Seed {
		s := &gardencorev1beta1.Seed{}
		s.Spec.Networks.Pods, s.Spec.Networks.Services = value, value
		s.Spec.Backup = &gardencorev1beta1.Backup{Provider: value}
		return s
	}
	changes := func(before, now string) []string {
		var fields []string
		for _, errs := range []field.ErrorList{
			validation.ShootChange(shoot(now), shoot(before)),
			validation.CloudProfileChange(profile(now), profile(before)),
			validation.SeedChange(seed(now), seed(before)),
		} {
			for _, err := range errs {
				fields = append(fields, err.Field)
			}
		}
		return fields
	}
	if got := changes("", "a"); len(got) > 0 {
		t.Errorf("from nothing to a value, refused: %q", got)
	}
	want := []string{
		"spec.region", "spec.provider.type", "spec.networking.type", "spec.type",
		"spec.networks.pods", "spec.networks.services", "spec.backup.provider",
	}
	for _, now := range []string{"b", ""} {
		if diff := cmp.Diff(want, changes("a", now)); diff != "" {
			t.Errorf("from a to %q, refused fields (-want +got):\n%s", now, diff)
		}
	}
}
