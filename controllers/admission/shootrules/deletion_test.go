package shootrules

import (
	"testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	confirmed := func(more func(*gardencorev1beta1.Shoot)) func(*gardencorev1beta1.Shoot) {
		return func(shoot *gardencorev1beta1.Shoot) {
			shoot.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "true"}
			if more != nil {
				more(shoot)
			}
		}
	}
	const unconfirmed = `metadata.annotations[confirmation.gardener.cloud/deletion]: Required value: must be "true" ` +
		`before the shoot can be deleted`
	const moving = "metadata.deletionTimestamp: Forbidden: the shoot must not be deleted while its control plane is " +
		"being moved: status.lastOperation is "
	const foreground = "propagationPolicy: Forbidden: the shoot must be deleted in the background, " +
		"for example with kubectl delete --cascade=background: its ShootState would go before it"
	testRules(t, []ruleCase{
		{name: "in the background", remove: true, old: confirmed(nil), policy: "Background"},
		{name: "orphaning", remove: true, old: confirmed(nil), policy: "Orphan"},
		{name: "in the foreground", remove: true, old: confirmed(nil), policy: "Foreground", want: []string{foreground}},
		{
			name: "in the foreground, while it is being deleted", remove: true, old: confirmed(inDeletion),
			policy: "Foreground", want: []string{foreground},
		},
		{name: "confirmed", remove: true, old: confirmed(nil)},
		{name: "not confirmed", remove: true, want: []string{unconfirmed}},
		{
			name: "confirmation is taken back", remove: true, want: []string{unconfirmed},
			old: func(s *gardencorev1beta1.Shoot) {
				s.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "false"}
			},
		},
		{name: "never started", remove: true, old: confirmed(unbound)},
		{name: "before the migration has begun", remove: true, old: confirmed(last("Reconcile", "Succeeded", "b", "a"))},
		{name: "delete during Migrate", remove: true, old: confirmed(last("Migrate", "Error", "b", "a")),
			want: []string{moving + "Migrate Error"}},
		{name: "delete after Migrate", remove: true, old: confirmed(last("Migrate", "Succeeded", "b", "b")),
			want: []string{moving + "Migrate Succeeded"}},
		{name: "delete during unfinished Restore", remove: true, old: confirmed(last("Restore", "Failed", "b", "b")),
			want: []string{moving + "Restore Failed"}},
		{name: "delete after Restore", remove: true, old: confirmed(last("Restore", "Succeeded", "b", "b"))},
		{
			name: "deleted once more while a forced restore goes on", remove: true,
			old: func(s *gardencorev1beta1.Shoot) { last("Restore", "Processing", "b", "b")(s); inDeletion(s) },
		},
	})
}
