package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
)

func TestAdded(t *testing.T) {
	t.Parallel()
	pools := func(names ...string) map[string]any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"name": name, "zones": []any{"z-" + name}})
		}
		return map[string]any{"spec": map[string]any{"workers": list}}
	}
	annotated := func(value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.test/a.b": value}}}
	}
	minimum := func(index int, value int32) *field.Error {
		return field.Invalid(field.NewPath("spec", "workers").Index(index).Child("minimum"), value,
			"must be at least 0")
	}
	zone := func(index int) *field.Error {
		return field.NotSupported(field.NewPath("spec", "workers").Index(index).Child("zones").Index(0), "z-b",
			[]string{"z"})
	}
	annotation := field.Invalid(field.NewPath("metadata", "annotations").Key("example.test/a.b"), "x",
		"names a pool that is gone")
	for _, c := range []struct {
		name         string
		errs, before field.ErrorList
		object, old  map[string]any
		want         field.ErrorList
	}{
		{name: "new", errs: field.ErrorList{minimum(0, -1)}, object: pools("a"), old: pools("a"),
			want: field.ErrorList{minimum(0, -1)}},
		{name: "as before", errs: field.ErrorList{minimum(0, -1)}, before: field.ErrorList{minimum(0, -1)},
			object: pools("a"), old: pools("a")},
		{
			name: "another wrong value", errs: field.ErrorList{minimum(0, -2)}, before: field.ErrorList{minimum(0, -1)},
			object: pools("a"), old: pools("a"),
			want: field.ErrorList{minimum(0, -2)},
		},
		{name: "the item has moved", errs: field.ErrorList{minimum(0, -1), zone(0)},
			before: field.ErrorList{minimum(1, -1), zone(1)}, object: pools("b", "a"), old: pools("a", "b")},
		{
			name: "another item has it", errs: field.ErrorList{minimum(0, -1)}, before: field.ErrorList{minimum(0, -1)},
			object: pools("b"), old: pools("a"),
			want: field.ErrorList{minimum(0, -1)},
		},
		{name: "an annotation that is as it was", errs: field.ErrorList{annotation}, object: annotated("x"),
			old: annotated("x")},
		{name: "an annotation that is new", errs: field.ErrorList{annotation}, object: annotated("x"),
			old: annotated(""), want: field.ErrorList{annotation}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, validation.Added(c.errs, c.before, c.object, c.old)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Who is above the node limit, because it was lowered, may stay there, but not go further.
func TestShoot_AboveNodeLimit_MayNotGrow(t *testing.T) {
	t.Parallel()
	profile := &gardencorev1beta1.CloudProfile{}
	profile.Name, profile.Spec.Regions = "profile", []gardencorev1beta1.Region{{Name: "here"}}
	profile.Spec.MachineTypes = []gardencorev1beta1.MachineType{{Name: "m"}}
	profile.Spec.Limits = &gardencorev1beta1.Limits{MaxNodesTotal: ptr.To[int32](5)}
	judge := func(minimum, maximum int32) (field.ErrorList, map[string]any) {
		worker := pool("m", "amd64")
		worker.Minimum, worker.Maximum = minimum, maximum
		shoot := &gardencorev1beta1.Shoot{Spec: gardencorev1beta1.ShootSpec{Region: "here"}}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{worker}
		wire, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shoot)
		if err != nil {
			t.Fatal(err)
		}
		return validation.Shoot(shoot, validation.Surroundings{Profile: profile}), wire
	}
	before, old := judge(7, 8)
	for _, c := range []struct {
		minimum, maximum int32
		want             []string
	}{
		{7, 8, nil},
		{5, 5, nil},
		{7, 9, []string{"spec.provider.workers[0].maximum"}},
		{8, 8, []string{"spec.provider.workers"}},
	} {
		errs, object := judge(c.minimum, c.maximum)
		var got []string
		for _, err := range validation.Added(errs, before, object, old) {
			got = append(got, err.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("from 7 to 8 to %d to %d, refused (-want +got):\n%s", c.minimum, c.maximum, diff)
		}
	}
}
