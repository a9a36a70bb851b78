package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

func TestTolerations(t *testing.T) {
	t.Parallel()
	tolerate := func(tolerations ...map[string]any) func(map[string]any) {
		return func(shoot map[string]any) {
			var list []any
			for _, toleration := range tolerations {
				list = append(list, toleration)
			}
			in(shoot, "spec")["tolerations"] = list
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

// TestOracleTolerations asks the cases whose answers the field's own implementation gave. They are kept where the rule
// about taints is.
func TestOracleTolerations(t *testing.T) {
	t.Parallel()
	type answer struct {
		Allowed                        bool
		ShootTolerationsAfterAdmission []gardencorev1beta1.Toleration
	}
	asked := 0
	for _, c := range oracletest.Read[knownQuestion, answer](t, "../placement/testdata/tolerations.jsonl.gz") {
		if c.In.Kind != "admission" {
			continue
		}
		asked++
		after, allowed := c.In.judge()
		if allowed != c.Want.Allowed {
			t.Errorf("%s: allowed %t, want %t", c.In.ID, allowed, c.Want.Allowed)
		}
		if diff := cmp.Diff(c.Want.ShootTolerationsAfterAdmission, after, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: tolerations after admission (-want +got):\n%s", c.In.ID, diff)
		}
	}
	if asked != 41 {
		t.Errorf("%d cases were asked, want 41", asked)
	}
}

type knownQuestion struct {
	ID, Kind, Operation                   string
	AdmissionConfig                       Tolerations
	Project                               gardencorev1beta1.Project
	ShootTolerations, OldShootTolerations []gardencorev1beta1.Toleration
}

func (q *knownQuestion) judge() ([]gardencorev1beta1.Toleration, bool) {
	lists := q.AdmissionConfig.With(&q.Project)
	after := q.ShootTolerations
	if q.Operation == "CREATE" {
		after = append(after, lists.Missing(after)...)
	}
	return after, len(lists.Judge(field.NewPath("spec", "tolerations"), after, q.OldShootTolerations)) == 0
}

// The landscape and the project may have the same default: a shoot gets it once.
func TestTolerations_SameDefaultTwice_IsMissingOnce(t *testing.T) {
	t.Parallel()
	landscape := Tolerations{Defaults: []gardencorev1beta1.Toleration{
		{Key: gardencorev1beta1.SeedTaintProtected},
		{Key: "mine", Value: ptr.To("v")}, {Key: "mine", Value: ptr.To("w")},
	}}
	project := &gardencorev1beta1.Project{Spec: gardencorev1beta1.ProjectSpec{
		Namespace: ptr.To("garden"), Tolerations: &gardencorev1beta1.ProjectTolerations{
			Defaults: []gardencorev1beta1.Toleration{{Key: "mine", Value: ptr.To("v")}, {Key: "given"}},
		},
	}}
	project.SetDefaults()
	want := []gardencorev1beta1.Toleration{
		{Key: gardencorev1beta1.SeedTaintProtected},
		{Key: "mine", Value: ptr.To("v")}, {Key: "mine", Value: ptr.To("w")},
	}
	got := landscape.With(project).Missing([]gardencorev1beta1.Toleration{{Key: "given"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
