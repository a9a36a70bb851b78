package migration

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// The destination's own backup entry controller is woken by the change of the seed, and may write to the entry before
// the one who adopts it is done: that is no reason to fail.
func TestAdoptionBesideTheEntrysOwnController(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Namespace: "garden-p"},
		Status: gardencorev1beta1.ShootStatus{TechnicalID: "shoot--p--alpha", UID: "1"}}
	entry := backupEntryOf(shoot)
	entry.Status.SeedName = ptr.To("a")
	wrote := 0
	garden := fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(entry).WithStatusSubresource(
		entry).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if err := c.Patch(ctx, o, patch, options...); err != nil {
				return err
			}
			wrote++
			theirs := &gardencorev1beta1.BackupEntry{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), theirs); err != nil {
				return err
			}
			theirs.Finalizers = append(theirs.Finalizers, "gardener")
			return c.Update(ctx, theirs)
		},
	}).Build()
	o := controlplane.New(&scope.Scope{Garden: garden, Settings: scope.Settings{SeedName: "b"},
		Clock: testingclock.NewFakeClock(time.Unix(1000, 0))})
	released := &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate,
		State: gardencorev1beta1.LastOperationStateSucceeded}
	stale := entry.DeepCopy()
	if err := adopt(t.Context(), o, stale, released); err != nil {
		t.Fatal(err)
	}
	got := &gardencorev1beta1.BackupEntry{}
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(entry), got); err != nil {
		t.Fatal(err)
	}
	if ptr.Deref(got.Spec.SeedName, "") != "b" || got.Status.SeedName != nil || got.Status.LastOperation == nil ||
		got.Status.LastOperation.Type != gardencorev1beta1.LastOperationTypeMigrate {
		t.Errorf("the entry is of seed %v, on %v, after %v", ptr.Deref(got.Spec.SeedName, ""), got.Status.SeedName,
			got.Status.LastOperation)
	}
	if wrote != 1 || len(got.Finalizers) != 1 {
		t.Errorf("its controller wrote %d times, and finalizers %v are left", wrote, got.Finalizers)
	}
}
