package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation/fields"
)

func TestUnknown(t *testing.T) {
	t.Parallel()
	empty := func() any { return &gardencorev1beta1.Shoot{} }
	const shoot = `{
		"spec": {
			"purpse": "testing",
			"provider": {"workers": [{"name": "a", "maxSurg": 1}], "infrastructureConfig": {"any": 1}}
		},
		"status": {"new": 1}
	}`
	for _, c := range []struct {
		name, object, old string
		want              []string
	}{
		{
			name: "fields that no type has, but for configuration of others and the status", object: shoot,
			want: []string{
				"spec.purpse: unknown field, kept without effect here",
				"spec.provider.workers[0].maxSurg: unknown field, kept without effect here",
			},
		},
		{name: "those that were there before", object: shoot, old: shoot},
		{name: "names count with their case", object: `{"spec": {"Region": "x"}}`,
			want: []string{"spec.Region: unknown field, kept without effect here"}},
		{name: "no JSON", object: `{`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(c.want, fields.Unknown([]byte(c.object), []byte(c.old), empty),
				cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
