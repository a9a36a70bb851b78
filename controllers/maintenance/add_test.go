package maintenance

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// What wakes the controller, and what does not.
func TestWakes(t *testing.T) {
	t.Parallel()
	reference := func(kind, name string) *gardencorev1beta1.CloudProfileReference {
		return &gardencorev1beta1.CloudProfileReference{Kind: kind, Name: name}
	}
	for name, c := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		want   bool
	}{
		"nothing":  {func(*gardencorev1beta1.Shoot) {}, false},
		"a status": {func(s *gardencorev1beta1.Shoot) { s.Status.ObservedGeneration++ }, false},
		"a wish": {func(s *gardencorev1beta1.Shoot) {
			s.Annotations = map[string]string{"gardener.cloud/operation": "maintain"}
		}, true},
		"a time window": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
				Begin: "220000+0000", End: "230000+0000"}}
		}, true},
		"another cloud profile": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile = reference("CloudProfile", "other")
		}, true},
		"a kind of profile that is not there": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile = reference("NamespacedCloudProfile", "one")
		}, true},
		"the same profile by its reference": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile = reference("CloudProfile", "one")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{CloudProfileName: ptr.To("one")}}
			changed := old.DeepCopy()
			c.change(changed)
			if got := wakes(old, changed); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
