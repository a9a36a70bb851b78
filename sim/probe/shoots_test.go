package probe_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Conditions and constraints are told in the order of their types, and why they are not True: only of those that are not.
func TestDescribeSaysWhy(t *testing.T) {
	t.Parallel()
	is := func(kind gardencorev1beta1.ConditionType, status gardencorev1beta1.ConditionStatus, reason string) gardencorev1beta1.Condition {
		return gardencorev1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: "It is " + reason + "."}
	}
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Status.Conditions = []gardencorev1beta1.Condition{is("Nodes", "False", "Ill"), is("API", "True", "Well"), is("Control", "Unknown", "Unseen")}
	shoot.Status.Constraints = []gardencorev1beta1.Condition{is("MayMove", "Progressing", "Asked")}
	want := []timeline.ConditionIs{
		{Type: "API", Status: "True"}, {Type: "Control", Status: "Unknown", Reason: "Unseen", Message: "It is Unseen."},
		{Type: "MayMove", Status: "Progressing", Reason: "Asked", Message: "It is Asked."}, {Type: "Nodes", Status: "False", Reason: "Ill", Message: "It is Ill."},
	}
	if diff := cmp.Diff(want, probe.Describe(shoot).Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
