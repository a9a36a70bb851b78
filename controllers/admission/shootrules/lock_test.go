package shootrules

import (
	"fmt"
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

func TestSpecLocked(t *testing.T) {
	t.Parallel()
	const together = "Forbidden: must not be changed together with spec.seedName"
	during := func(path, seeds, operation string) []string {
		return []string{fmt.Sprintf(
			"%s: Forbidden: must not be changed while the control plane is being moved: %s, status.lastOperation is %s", path,
			seeds, operation)}
	}
	purpose := func(shoot map[string]any) { admissiontest.In(shoot, "spec")["purpose"] = "testing" }
	testRules(t, []ruleCase{
		{name: "another change of a settled shoot", wire: purpose},
		{
			name: "binding that changes anything else in spec",
			wire: func(shoot map[string]any) { to("b")(shoot); purpose(shoot) },
			want: []string{"spec.purpose: " + together},
		},
		{
			name: "binding that changes a field which the types do not have",
			wire: func(shoot map[string]any) {
				to("b")(shoot)
				admissiontest.In(shoot, "spec", "fieldOfTheFuture")["on"] = false
			},
			want: []string{"spec.fieldOfTheFuture.on: " + together},
		},
		{
			name: "binding that changes metadata too", wire: to("b", "some/annotation"),
		},
		{
			name: "another change before the migration has begun", old: last("Reconcile", "Succeeded", "b", "a"), wire: purpose,
			want: during("spec.purpose", `spec.seedName is "b", status.seedName is "a"`, "Reconcile Succeeded"),
		},
		{
			name: "another change during Migrate", old: last("Migrate", "Processing", "b", "a"),
			wire: func(shoot map[string]any) {
				workers, _ := admissiontest.In(shoot, "spec", "provider")["workers"].([]any)
				workers[0].(map[string]any)["maximum"] = 4
			},
			want: during("spec.provider.workers[0].maximum", `spec.seedName is "b", status.seedName is "a"`,
				"Migrate Processing"),
		},
		{
			name: "another change after Migrate", old: last("Migrate", "Succeeded", "b", "b"), wire: purpose,
			want: during("spec.purpose", `spec.seedName is "b", status.seedName is "b"`, "Migrate Succeeded"),
		},
		{
			name: "another change during Restore", old: last("Restore", "Error", "b", "b"),
			wire: func(shoot map[string]any) { admissiontest.In(shoot, "spec", "hibernation")["enabled"] = true },
			want: during("spec.hibernation", `spec.seedName is "b", status.seedName is "b"`, "Restore Error"),
		},
		{
			name: "a forced restore does not unlock it", old: last("Restore", "Error", "b", "b"),
			wire: func(shoot map[string]any) { to("c", force)(shoot); purpose(shoot) },
			want: []string{"spec.purpose: " + together},
		},
		{name: "another change after Restore", old: last("Restore", "Succeeded", "b", "b"), wire: purpose},
		{name: "another change while it is created", old: func(s *gardencorev1beta1.Shoot) {
			s.Status = gardencorev1beta1.ShootStatus{}
		}, wire: purpose},
		{
			name: "the status says nothing here", old: last("Migrate", "Processing", "b", "a"),
			wire: func(shoot map[string]any) { admissiontest.In(shoot, "status")["seedName"] = "b" },
		},
	})
}

func TestManyDifferencesAreCounted(t *testing.T) {
	t.Parallel()
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("spec.x%02d: Forbidden: must not be changed together with spec.seedName", i))
	}
	want[9] += "; and 2 more fields"
	testRules(t, []ruleCase{{
		name: "twelve",
		wire: func(shoot map[string]any) {
			to("b")(shoot)
			for i := range 12 {
				admissiontest.In(shoot, "spec")[fmt.Sprintf("x%02d", i)] = i
			}
		},
		want: want,
	}})
}
