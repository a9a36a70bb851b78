package world_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/world"
)

// What our types do not know is what they lose.
func TestUnmodelled(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Region: "here"}}
	shoot.Name = "alpha"
	object, err := world.WithUnmodelled(shoot)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := world.Unmodelled(object), `{"shallKeep":[1,{"deep":"yes"}]}`; got != want {
		t.Errorf("the Shoot has %s, want %s", got, want)
	}
	understood := &gardencorev1beta1.Shoot{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, understood); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shoot.Spec, understood.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(understood)
	if err != nil {
		t.Fatal(err)
	}
	if got := world.Unmodelled(&unstructured.Unstructured{Object: again}); got != "" {
		t.Errorf("written back as it was understood it has %s", got)
	}
}
