package shootrules

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestHibernation(t *testing.T) {
	t.Parallel()
	constrained := func(status gardencorev1beta1.ConditionStatus, asleep bool) func(*gardencorev1beta1.Shoot) {
		return func(shoot *gardencorev1beta1.Shoot) {
			shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(asleep)}
			shoot.Status.Constraints = []gardencorev1beta1.Condition{
				{Type: "MaintenancePreconditionsSatisfied", Status: "False"},
				{Type: "HibernationPossible", Status: status, Message: "A webhook is in the way."},
			}
		}
	}
	enabled := func(on bool) func(map[string]any) {
		return func(shoot map[string]any) { admissiontest.In(shoot, "spec", "hibernation")["enabled"] = on }
	}
	refused := func(status string) []string {
		return []string{"spec.hibernation.enabled: Forbidden: must not become true while constraint HibernationPossible is " +
			status + ": A webhook is in the way."}
	}
	testRules(t, []ruleCase{
		{name: "no constraint", wire: enabled(true)},
		{name: "possible", old: constrained("True", false), wire: enabled(true)},
		{name: "not possible", old: constrained("False", false), wire: enabled(true), want: refused("False")},
		{name: "unknown", old: constrained("Unknown", false), wire: enabled(true), want: refused("Unknown")},
		{name: "progressing", old: constrained("Progressing", false), wire: enabled(true), want: refused("Progressing")},
		{name: "wakes up", old: constrained("False", true), wire: enabled(false)},
		{name: "sleeps on", old: constrained("False", true), wire: func(shoot map[string]any) {
			admissiontest.In(shoot, "spec")["purpose"] = "testing"
		}},
		{name: "created asleep", create: true, wire: enabled(true)},
	})
}
