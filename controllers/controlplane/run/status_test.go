package run

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// begun is a run of seed a that has begun to reconcile a shoot.
func begun(t *testing.T) *Status {
	t.Helper()
	o := &Status{Scope: controlplanetest.Bound(t)}
	if err := o.Begin(t.Context(), gardencorev1beta1.LastOperationTypeReconcile, "begins", "v1"); err != nil {
		t.Fatal(err)
	}
	return o
}

func inGarden(t *testing.T, o *Status) *gardencorev1beta1.Shoot {
	t.Helper()
	return controlplanetest.InGarden(t, o.Scope)
}

// Tasks read the run's Shoot while others patch the status: it must not change under them.
func TestAPatchInTheMiddleOfAFlowLeavesTheShootOfTheRunAlone(t *testing.T) {
	t.Parallel()
	o := begun(t)
	shared, before := o.Shoot, o.Shoot.DeepCopy()
	if err := o.Patch(t.Context(), func(s *gardencorev1beta1.ShootStatus) { s.IsHibernated = true }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, shared); diff != "" || o.Shoot != shared {
		t.Errorf("the Shoot that other tasks read has changed:\n%s", diff)
	}
	if !inGarden(t, o).Status.IsHibernated {
		t.Error("nothing was written")
	}
}

func TestWhoHasLostTheShootWritesNoStatus(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*gardencorev1beta1.ShootStatus){
		"another gardenlet has begun":  func(s *gardencorev1beta1.ShootStatus) { s.Gardener.ID = "b" },
		"it was given to another seed": func(s *gardencorev1beta1.ShootStatus) { s.SeedName = ptr.To("b") },
		"the operation was called off": func(s *gardencorev1beta1.ShootStatus) { s.LastOperation.State = "Aborted" },
		"another operation has begun":  func(s *gardencorev1beta1.ShootStatus) { s.LastOperation.Type = "Restore" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			shoot := inGarden(t, o)
			lose(&shoot.Status)
			if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
				t.Fatal(err)
			}
			before := inGarden(t, o)
			for what, err := range map[string]error{
				"patch":   o.Patch(t.Context(), func(s *gardencorev1beta1.ShootStatus) { s.IsHibernated = true }),
				"succeed": o.Succeed(t.Context(), "done", nil),
				"fail":    o.Fail(t.Context(), errors.New("late"), time.Hour),
				"consume": o.consume(t.Context(), []string{"x"}),
			} {
				if !errors.Is(err, ErrTakenOver) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if diff := cmp.Diff(before, inGarden(t, o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A destination that is left by force has its Restore cut off, if it can begin to hand the shoot on: what that waits
// for may never come. Other operations are brought to their end before the shoot moves.
func TestARestoreEndsWhenItsShootIsBoundElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation        gardencorev1beta1.LastOperationType
		ready            gardencorev1beta1.ConditionStatus
		stopped, ignored bool
		cutOff           bool
	}{
		{operation: "Restore", ready: "True", cutOff: true},
		{operation: "Restore", ready: "False"},
		{operation: "Restore", ready: "True", stopped: true},
		{operation: "Restore", ready: "True", ignored: true},
		{operation: "Reconcile", ready: "True"},
		{operation: "Migrate", ready: "True"},
	} {
		o := begun(t)
		o.SeedObject = &gardencorev1beta1.Seed{}
		if c.stopped {
			o.SeedObject.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
		}
		if err := o.Begin(t.Context(), c.operation, "begins", "v1"); err != nil {
			t.Fatal(err)
		}
		if err := o.StillMine(t.Context()); err != nil {
			t.Errorf("%s: %v", c.operation, err)
		}
		shoot := inGarden(t, o)
		shoot.Spec.SeedName = ptr.To("c")
		if c.ignored {
			metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, "shoot.gardener.cloud/ignore", "true")
		}
		if err := o.Garden.Update(t.Context(), shoot); err != nil {
			t.Fatal(err)
		}
		shoot.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration", Status: c.ready}}
		if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
			t.Fatal(err)
		}
		if err := o.StillMine(t.Context()); errors.Is(err, ErrTakenOver) != c.cutOff || (err != nil) != c.cutOff {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
