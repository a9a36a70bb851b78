package shootrules

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestTolerations(t *testing.T) {
	t.Parallel()
	tolerate := func(tolerations ...map[string]any) func(map[string]any) {
		return func(shoot map[string]any) {
			var list []any
			for _, toleration := range tolerations {
				list = append(list, toleration)
			}
			admissiontest.In(shoot, "spec")["tolerations"] = list
		}
	}
	has := func(tolerations ...gardencorev1beta1.Toleration) func(*gardencorev1beta1.Shoot) {
		return func(shoot *gardencorev1beta1.Shoot) { shoot.Spec.Tolerations = tolerations }
	}
	white := func(g *garden) {
		g.tolerations.Whitelist = []gardencorev1beta1.Toleration{{Key: "any"}, {Key: "one", Value: ptr.To("v")}}
	}
	const not = "is not in the whitelist of the project or the landscape, which allows: "
	testRules(t, []ruleCase{
		{name: "none"},
		{name: "key is whitelisted", garden: white, wire: tolerate(map[string]any{"key": "any", "value": "x"})},
		{name: "value is whitelisted", garden: white, wire: tolerate(map[string]any{"key": "one", "value": "v"})},
		{
			name: "not whitelisted", garden: white,
			wire: tolerate(map[string]any{"key": "any"}, map[string]any{"key": "one", "value": "w"},
				map[string]any{"key": "one"}),
			want: []string{
				`spec.tolerations[1]: Invalid value: "one=w": ` + not + "any, one=v",
				`spec.tolerations[2]: Invalid value: "one": ` + not + "any, one=v",
			},
		},
		{
			name: "nothing is whitelisted", create: true, wire: tolerate(map[string]any{"key": "any"}),
			want: []string{`spec.tolerations[0]: Invalid value: "any": ` + not + "nothing"},
		},
		{
			name: "what was there may stay", old: has(gardencorev1beta1.Toleration{Key: "old"}), garden: white,
			wire: tolerate(map[string]any{"key": "any"}, map[string]any{"key": "old"}),
		},
		{
			name: "what was there must not change", old: has(gardencorev1beta1.Toleration{Key: "old"}),
			wire: tolerate(map[string]any{"key": "old", "value": "new"}),
			want: []string{`spec.tolerations[0]: Invalid value: "old=new": ` + not + "nothing"},
		},
		{name: "taken away", old: has(gardencorev1beta1.Toleration{Key: "old"}), wire: tolerate()},
	})
}
