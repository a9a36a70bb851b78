package toleration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

// TestOracleLists asks the cases whose answers the field's own implementation gave. They are kept where the rule
// about taints is.
func TestOracleLists(t *testing.T) {
	t.Parallel()
	type answer struct {
		Allowed                        bool
		ShootTolerationsAfterAdmission []gardencorev1beta1.Toleration
	}
	asked := 0
	for _, c := range oracletest.Read[knownQuestion, answer](t, "../../placement/testdata/tolerations.jsonl.gz") {
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
	AdmissionConfig                       Lists
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
func TestLists_SameDefaultTwice_IsMissingOnce(t *testing.T) {
	t.Parallel()
	landscape := Lists{Defaults: []gardencorev1beta1.Toleration{
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
