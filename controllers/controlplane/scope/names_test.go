package scope

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// The ranges are those of the specification; a shoot may be a seed, whose cluster has addresses of its own.
func TestRangesOf_AreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{}
	standard := Ranges{Pods: gardencorev1beta1.DefaultPods, Services: gardencorev1beta1.DefaultServices}
	if got := RangesOf(shoot); got != standard || got.Kubernetes() != "100.64.0.1" {
		t.Errorf("without networking: %+v, %s", got, got.Kubernetes())
	}
	shoot.Spec.Networking = &gardencorev1beta1.Networking{Services: ptr.To("127.20.128.0/18")}
	want := Ranges{Pods: standard.Pods, Services: "127.20.128.0/18"}
	if got := RangesOf(shoot); got != want || got.Kubernetes() != "127.20.128.1" {
		t.Errorf("with its own Services: %+v, %s", got, got.Kubernetes())
	}
}
