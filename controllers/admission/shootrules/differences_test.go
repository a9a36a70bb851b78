package shootrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, now string
		want           []string
	}{
		{name: "none", old: `{"a":[1,{"b":null}],"c":{}}`, now: `{"c":{},"a":[1,{"b":null}]}`},
		{name: "value", old: `{"a":{"b":1}}`, now: `{"a":{"b":2}}`, want: []string{"spec.a.b"}},
		{name: "type", old: `{"a":{"b":1}}`, now: `{"a":[1]}`, want: []string{"spec.a"}},
		{name: "added and gone", old: `{"z":1}`, now: `{"a":1}`, want: []string{"spec.a", "spec.z"}},
		{name: "null is not absent", old: `{"a":null}`, now: `{}`, want: []string{"spec.a"}},
		{name: "list of another length", old: `{"a":[1]}`, now: `{"a":[1,2]}`, want: []string{"spec.a"}},
		{name: "element", old: `{"a":[1,{"b":1}]}`, now: `{"a":[1,{"b":2}]}`, want: []string{"spec.a[1].b"}},
		{name: "label", old: `{"l":{"x.y/z":"1"}}`, now: `{"l":{"x.y/z":"2"}}`, want: []string{"spec.l[x.y/z]"}},
		{name: "large numbers", old: `{"a":9007199254740993}`, now: `{"a":9007199254740992}`, want: []string{"spec.a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			old, now := map[string]any{}, map[string]any{}
			for text, into := range map[string]*map[string]any{c.old: &old, c.now: &now} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, path := range differences(field.NewPath("spec"), old, now) {
				got = append(got, path.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
