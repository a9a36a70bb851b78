package shootrules

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

const force = "shoot.gardener.cloud/force-restore"

func inDeletion(shoot *gardencorev1beta1.Shoot) {
	shoot.DeletionTimestamp = ptr.To(metav1.Unix(1700000000, 0))
}

// TestChangeOfSeedName has the rows of docs/specification/migration.md#spec-2-2 that ask about the shoot, and the
// exceptions of a forced restore (docs/ownership.md#spec-9-3).
func TestChangeOfSeedName(t *testing.T) {
	t.Parallel()
	const moving = "spec.seedName: Forbidden: must not be changed while the control plane is being moved: " +
		"status.lastOperation is "
	const uncreated = "spec.seedName: Forbidden: must not be changed before the shoot has been created successfully: "
	const deleting = "spec.seedName: Forbidden: must not be changed while the shoot is being deleted"
	testRules(t, []ruleCase{
		{name: "a settled shoot is bound to another seed", wire: to("b")},
		{name: "nothing changes"},
		{
			name: "seedName becomes nil",
			wire: func(shoot map[string]any) { delete(admissiontest.In(shoot, "spec"), "seedName") },
			want: []string{"spec.seedName: Required value: must not be unset: name another seed to move the control plane"},
		},
		{
			name: "seedName becomes empty", wire: to(""),
			want: []string{"spec.seedName: Required value: must not be unset: name another seed to move the control plane"},
		},
		{name: "the scheduler binds it", old: unbound, wire: to("b")},
		{
			name: "the first binding may come with other changes", old: unbound,
			wire: func(shoot map[string]any) { to("b")(shoot); admissiontest.In(shoot, "spec")["purpose"] = "testing" },
		},
		{name: "it is created with a seed", create: true},
		{name: "the shoot has never been started", old: func(s *gardencorev1beta1.Shoot) {
			s.Status = gardencorev1beta1.ShootStatus{}
		}, wire: to("b"), want: []string{uncreated + "there is no status.lastOperation"}},
		{name: "the shoot is being created", old: last("Create", "Processing"), wire: to("b"),
			want: []string{uncreated + "status.lastOperation is Create Processing"}},
		{name: "the shoot could not be created", old: last("Create", "Failed"), wire: to("b", force),
			want: []string{uncreated + "status.lastOperation is Create Failed"}},
		{name: "the shoot has only just been created", old: last("Create", "Succeeded"), wire: to("b")},
		{name: "a reconciliation has failed", old: last("Reconcile", "Failed"), wire: to("b")},
		{name: "the shoot is being deleted", old: inDeletion, wire: to("b"), want: []string{deleting}},
		{name: "an unbound shoot is being deleted", old: func(s *gardencorev1beta1.Shoot) {
			unbound(s)
			inDeletion(s)
		}, wire: to("b", force), want: []string{deleting}},
		{name: "the shoot is being deleted, forced", old: inDeletion, wire: to("b", force)},
		{name: "the migration has not begun and is called off", old: last("Reconcile", "Succeeded", "b", "a"), wire: to("a")},
		{name: "the migration has not begun and goes elsewhere", old: last("Reconcile", "Succeeded", "b", "a"),
			wire: to("c")},
		{name: "Migrate is under way", old: last("Migrate", "Processing", "b", "a"), wire: to("c"),
			want: []string{moving + "Migrate Processing"}},
		{name: "Migrate is under way, forced", old: last("Migrate", "Processing", "b", "a"), wire: to("c", force),
			want: []string{moving + "Migrate Processing"}},
		{name: "Migrate fails", old: last("Migrate", "Error", "b", "a"), wire: to("c"),
			want: []string{moving + "Migrate Error"}},
		{name: "Migrate fails, forced", old: last("Migrate", "Error", "b", "a"), wire: to("c", force)},
		{name: "Migrate has failed, forced", old: last("Migrate", "Failed", "b", "a"), wire: to("c", force)},
		{name: "Migrate has succeeded", old: last("Migrate", "Succeeded", "b", "b"), wire: to("c", force),
			want: []string{moving + "Migrate Succeeded"}},
		{name: "Migrate was aborted", old: last("Migrate", "Aborted", "b", "b"), wire: to("c"),
			want: []string{moving + "Migrate Aborted"}},
		{name: "Migrate was aborted, forced", old: last("Migrate", "Aborted", "b", "b"), wire: to("c", force)},
		{name: "Restore is under way", old: last("Restore", "Processing", "b", "b"), wire: to("c"),
			want: []string{moving + "Restore Processing"}},
		{name: "Restore is under way, forced", old: last("Restore", "Processing", "b", "b"), wire: to("c", force)},
		{name: "Restore has failed, forced", old: last("Restore", "Failed", "b", "b"), wire: to("a", force)},
		{name: "Restore has succeeded", old: last("Restore", "Succeeded", "b", "b"), wire: to("a")},
	})
}
