package ratchet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/controllers/validation/ratchet"
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
			if diff := cmp.Diff(c.want, ratchet.Added(c.errs, c.before, c.object, c.old)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
