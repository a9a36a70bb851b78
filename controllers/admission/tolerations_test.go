package admission

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
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
			wire: tolerate(map[string]any{"key": "any"}, map[string]any{"key": "one", "value": "w"}, map[string]any{"key": "one"}),
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

// TestTolerationsAsKnown asks the cases whose answers the field's own implementation gave. They are kept where the rule
// about taints is.
func TestTolerationsAsKnown(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../placement/testdata/tolerations.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var known knownCase
		if err := json.Unmarshal(lines.Bytes(), &known); err != nil {
			t.Fatal(err)
		}
		if known.In.Kind != "admission" {
			continue
		}
		asked++
		after, allowed := known.judge()
		if allowed != known.Want.Allowed {
			t.Errorf("%s: allowed %t, want %t", known.In.ID, allowed, known.Want.Allowed)
		}
		if diff := cmp.Diff(known.Want.ShootTolerationsAfterAdmission, after, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: tolerations after admission (-want +got):\n%s", known.In.ID, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if asked != 41 {
		t.Errorf("%d cases were asked, want 41", asked)
	}
}

type knownCase struct {
	In struct {
		ID, Kind, Operation                   string
		AdmissionConfig                       Tolerations
		Project                               gardencorev1beta1.Project
		ShootTolerations, OldShootTolerations []gardencorev1beta1.Toleration
	}
	Want struct {
		Allowed                        bool
		ShootTolerationsAfterAdmission []gardencorev1beta1.Toleration
	}
}

func (k *knownCase) judge() ([]gardencorev1beta1.Toleration, bool) {
	lists := k.In.AdmissionConfig.With(&k.In.Project)
	after := k.In.ShootTolerations
	if k.In.Operation == "CREATE" {
		after = append(after, lists.Missing(after)...)
	}
	return after, len(lists.Judge(field.NewPath("spec", "tolerations"), after, k.In.OldShootTolerations)) == 0
}
