package savedstate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	transplantv1alpha1 "github.com/transplant-sim/transplant/api/transplant/v1alpha1"
)

const shootStateFinalizer = "core.gardener.cloud/shootstate"

func gardenScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), gardencorev1beta1.AddToScheme(scheme),
		transplantv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func shootAfter(operation, state string) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p"}}
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationType(operation), State: gardencorev1beta1.LastOperationState(state),
	}
	return shoot
}

func remove(t *testing.T, garden client.Client, object client.Object) {
	t.Helper()
	if err := garden.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// The table of docs/specification/migration.md#protect-and-delete: a ShootState that somebody deletes
// stays while a migration lives on it, and goes, if it was deleted, as soon as nothing does.
func TestProtectionOfAShootState(t *testing.T) {
	t.Parallel()
	const others = "somebody.else/holds"
	for name, c := range map[string]struct {
		operation, state string
		finalizers       []string
		deleted          bool
		want             []string // finalizers, nil if it is gone
	}{
		"migration begins": {"Migrate", "Processing", []string{others}, false,
			[]string{others, shootStateFinalizer}},
		"migration goes on": {"Migrate", "Error", []string{shootStateFinalizer}, false,
			[]string{shootStateFinalizer}},
		"handed over": {"Migrate", "Succeeded", []string{others}, false,
			[]string{others, shootStateFinalizer}},
		"called off": {"Migrate", "Aborted", []string{others}, false,
			[]string{others, shootStateFinalizer}},
		"restoration goes on": {"Restore", "Error", []string{others}, false,
			[]string{others, shootStateFinalizer}},
		"deleted while a migration goes on": {"Migrate", "Processing", []string{shootStateFinalizer}, true,
			[]string{shootStateFinalizer}},
		"deleted while it is being restored": {"Restore", "Processing", []string{shootStateFinalizer}, true,
			[]string{shootStateFinalizer}},
		"deleted, and restored": {"Restore", "Succeeded", []string{shootStateFinalizer}, true, nil},
		"restored": {"Restore", "Succeeded", []string{others, shootStateFinalizer}, false,
			[]string{others}},
		"reconciled": {"Reconcile", "Processing", []string{others, shootStateFinalizer}, false,
			[]string{others}},
		"never protected": {"Create", "Succeeded", []string{others}, false, []string{others}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := shootAfter(c.operation, c.state)
			saved := &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p",
				Finalizers: c.finalizers}}
			garden := fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(shoot,
				saved).WithStatusSubresource(shoot).Build()
			if c.deleted {
				remove(t, garden, saved)
			}
			r := &Protection{Garden: garden}
			for range 2 { // a second look changes nothing
				if _, err := r.Reconcile(t.Context(),
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
					t.Fatal(err)
				}
			}
			err := garden.Get(t.Context(), client.ObjectKeyFromObject(saved), saved)
			if c.want == nil {
				if !apierrors.IsNotFound(err) {
					t.Errorf("it is still there: %v, %v", saved.Finalizers, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, saved.Finalizers); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
		})
	}
}

// A Shoot that has gone takes its state with it (the garbage collector does), whatever it was doing.
func TestProtection_NoShoot_LetsTheStateGo(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"collected": true, "not yet": false} {
		finalizers := []string{shootStateFinalizer}
		saved := &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p",
			Finalizers: finalizers}}
		garden := fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(saved).Build()
		if deleted {
			remove(t, garden, saved)
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(saved)}
		if _, err := (&Protection{Garden: garden}).Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		err := garden.Get(t.Context(), request.NamespacedName, saved)
		if deleted != apierrors.IsNotFound(err) || !deleted && len(saved.Finalizers) > 0 {
			t.Errorf("%s: %v, %v", name, saved.Finalizers, err)
		}
	}
}

// Watches show a finalizer that the garden does not have: a migration reads when it begins, and rechecks.
func TestProtection_FinalizerIsShownOnly_IsSet(t *testing.T) {
	t.Parallel()
	saved := &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p"}}
	shown := saved.DeepCopy()
	shown.Finalizers = []string{shootStateFinalizer}
	build := func(state client.Object) client.Client {
		shoot := shootAfter("Migrate", "Processing")
		return fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(shoot, state).Build()
	}
	garden, clock := build(saved), testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	r := (&Protection{Garden: garden, Clock: clock, Recheck: 10 * time.Second}).cacheFirst(build(shown))
	for range 2 { // the second time, the garden has gone back
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(saved)}); err != nil {
			t.Fatal(err)
		}
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(saved), saved); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{shootStateFinalizer}, saved.Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		saved.Finalizers = nil
		if err := garden.Update(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(11 * time.Second))
	}
}

func TestProtectionNeedsBothTheShootAndItsState(t *testing.T) {
	t.Parallel()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "garden-p", Name: "s"}}
	saved := &gardencorev1beta1.ShootState{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "garden-p"}}
	for name, object := range map[string]client.Object{
		"no shoot": saved, "no state": shootAfter("Migrate", "Processing"),
	} {
		garden := fake.NewClientBuilder().WithScheme(gardenScheme(t)).WithObjects(object).Build()
		if _, err := (&Protection{Garden: garden}).Reconcile(t.Context(), request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := garden.Get(t.Context(), request.NamespacedName, object); err != nil || len(object.GetFinalizers()) > 0 {
			t.Errorf("%s: %v, %v", name, object.GetFinalizers(), err)
		}
	}
}

func TestStateIsProtectedWhileAMigrationLivesOnIt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Reconcile/Succeeded": false, "Migrate/Processing": true, "Migrate/Succeeded": true, "Migrate/Aborted": true,
		"Restore/Processing": true, "Restore/Error": true, "Restore/Succeeded": false, "Create/Succeeded": false,
	} {
		operation, state, _ := strings.Cut(name, "/")
		if got := needed(shootAfter(operation, state).Status.LastOperation); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
	if needed(nil) {
		t.Error("a shoot nothing was done for needs no protection")
	}
}
