package extension

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

// A shoot that leaves gets no new Bastion, and the status of such a Bastion says why; one that was made before stays
// until it is deleted, and goes then with all that it stands for.
func TestNoBastionIsBegunForAShootThatLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(*gardencorev1beta1.Shoot)
		want  string
	}{
		"to another seed": {func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Migrate", State: "Processing"}
		}, "the shoot is on its way to another seed"},
		"for good": {func(s *gardencorev1beta1.Shoot) {
			s.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
		}, "the shoot is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := cloudtest.NewLandscape(t)
			b := reconciled(t, cloud, infrastructureObject())
			before := cloud.IDs()
			old := &extensionsv1alpha1.Bastion{ObjectMeta: named("old"),
				Spec: extensionsv1alpha1.BastionSpec{DefaultSpec: spec()}}
			b.create(old)
			b.ask(old, "reconcile")
			whole := cloud.IDs()
			b.setShoot(c.leave)
			late := &extensionsv1alpha1.Bastion{ObjectMeta: named("late"),
				Spec: extensionsv1alpha1.BastionSpec{DefaultSpec: spec()}}
			b.create(late)
			b.annotate(late, "reconcile")
			if _, err := b.once(late); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			b.ask(old, "reconcile")
			if b.get(old); last(old) != "Reconcile/Succeeded/100" {
				t.Errorf("the one that was there is %s", last(old))
			}
			if diff := cmp.Diff(whole, cloud.IDs()); diff != "" {
				t.Errorf("something was made: %s", diff)
			}
			for _, bastion := range []*extensionsv1alpha1.Bastion{old, late} {
				b.delete(bastion)
				b.settle(bastion)
				if b.exists(bastion) {
					t.Errorf("%q is not deleted", bastion.Name)
				}
			}
			if diff := cmp.Diff(before, cloud.IDs()); diff != "" {
				t.Errorf("something is left: %s", diff)
			}
		})
	}
}
