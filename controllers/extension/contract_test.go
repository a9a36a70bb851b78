package extension

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/cloudtest"
)

func typeName(o any) string { return fmt.Sprintf("%T", o) }

// reconciled is a seed on which the object has been created and reconciled.
func reconciled(t *testing.T, c *cloudtest.Cloud, o extensionsv1alpha1.Object) *bench {
	t.Helper()
	b := newBench(t, "a", c, 1)
	b.create(o)
	b.ask(o, "reconcile")
	b.get(o)
	if got := last(o); got != "Create/Succeeded/100" {
		t.Fatalf("after the first reconciliation the last operation is %s", got)
	}
	return b
}

// touched runs something and returns what it wrote into the seed and the cloud.
func touched(b *bench, run func()) (writes []string, calls []cloudtest.Call) {
	w, c := len(b.written()), len(b.cloud.Ledger())
	run()
	return b.written()[w:], b.cloud.Ledger()[c:]
}

func untouched(t *testing.T, b *bench, what string, run func()) {
	t.Helper()
	writes, calls := touched(b, run)
	if len(writes) > 0 || len(calls) > 0 {
		t.Errorf("%s: something was done: writes %v, cloud calls %v", what, writes, calls)
	}
}

// TestA1WaitForState: nothing at all happens, also after a restart.
func TestA1WaitForState(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		b, o := newBench(t, "a", cloudtest.NewLandscape(t), 1), fresh()
		b.create(o)
		b.annotate(o, "wait-for-state")
		untouched(t, b, "wait-for-state", func() {
			for range 3 {
				b.settle(o)
				b.restart()
			}
		})
	})
}

// TestA3NoRequestNoAction: a change of spec or status alone asks for nothing.
func TestA3NoRequestNoAction(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		b := reconciled(t, cloudtest.NewLandscape(t), o)
		b.change(o, func() { o.SetGeneration(7); o.SetLabels(map[string]string{"x": "y"}) })
		untouched(t, b, "an unannotated change", func() { b.settle(o); b.restart(); b.settle(o) })
	})
}

// TestA4Reconcile: the request is taken off before anything is done, no old success stands beside a missing request,
// and the end satisfies everything a gardenlet waits for.
func TestA4Reconcile(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		b := reconciled(t, cloudtest.NewLandscape(t), o)
		b.change(o, func() { o.SetGeneration(2) })
		writes, _ := touched(b, func() { b.ask(o, "reconcile") })
		own := only(writes, o)
		if len(own) < 3 || own[0] != "processing" || own[1] != "no request" || own[len(own)-1] != "succeeded" {
			t.Errorf("the writes were %v", own)
		}
		b.get(o)
		status := o.GetExtensionStatus()
		requested, err := time.Parse(time.RFC3339Nano, o.GetAnnotations()["gardener.cloud/timestamp"])
		if err != nil {
			t.Fatal(err)
		}
		if _, there := o.GetAnnotations()["gardener.cloud/operation"]; there || last(o) != "Reconcile/Succeeded/100" ||
			status.GetLastError() != nil || status.GetObservedGeneration() != 2 ||
			requested.Truncate(time.Second).After(status.GetLastOperation().LastUpdateTime.Time) {
			t.Errorf("a gardenlet would wait on: %v, error %v, generation %d", last(o), status.GetLastError(),
				status.GetObservedGeneration())
		}
	})
}

// TestA5A6ErrorsKeepTheRequest: on error migrate and restore stay, type and codes are shown, the generation is
// observed.
func TestA5A6ErrorsKeepTheRequest(t *testing.T) {
	t.Parallel()
	o := infrastructureObject()
	c := cloudtest.NewLandscape(t)
	b := newBench(t, "a", c, 1)
	b.create(o)
	b.change(o, func() { o.SetGeneration(4) })
	c.Refuse(func(verb, kind string) *cloud.Error {
		return &cloud.Error{Code: cloud.CodeQuotaExceeded, Reason: "NetworkLimitExceeded", Message: "Quota exceeded"}
	})
	b.annotate(o, "restore")
	if _, err := b.once(o); err == nil {
		t.Fatal("the error of the cloud was not handed on")
	}
	b.get(o)
	lastError := o.Status.LastError
	if last(o) != "Restore/Error/50" || o.Annotations["gardener.cloud/operation"] != "restore" ||
		o.Status.ObservedGeneration != 4 || lastError == nil {
		t.Fatalf("got %s, request %q, generation %d, error %v", last(o), o.Annotations["gardener.cloud/operation"],
			o.Status.ObservedGeneration, lastError)
	}
	if diff := cmp.Diff([]gardencorev1beta1.ErrorCode{"ERR_INFRA_QUOTA_EXCEEDED"}, lastError.Codes); diff != "" {
		t.Error(diff)
	}
	c.Refuse(nil)
	b.settle(o)
	b.get(o)
	if last(o) != "Restore/Succeeded/100" || o.Status.LastError != nil {
		t.Errorf("after the cause was gone: %s, error %v", last(o), o.Status.LastError)
	}
}

// TestA8Others: objects of another type or class are ignored for all operations.
func TestA8Others(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		for _, change := range []func(*extensionsv1alpha1.DefaultSpec){
			func(s *extensionsv1alpha1.DefaultSpec) { s.Type = "other" },
			func(s *extensionsv1alpha1.DefaultSpec) {
				class := extensionsv1alpha1.ExtensionClassSeed
				s.Class = &class
			},
		} {
			b, o := newBench(t, "a", cloudtest.NewLandscape(t), 1), fresh()
			change(defaultSpec(o))
			b.create(o)
			for _, operation := range []string{"reconcile", "migrate", "restore"} {
				b.annotate(o, operation)
				untouched(t, b, operation, func() { b.settle(o) })
			}
		}
	})
}

func defaultSpec(o extensionsv1alpha1.Object) *extensionsv1alpha1.DefaultSpec {
	switch o := o.(type) {
	case *extensionsv1alpha1.Infrastructure:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.DNSRecord:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.BackupEntry:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.ControlPlane:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.Network:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.OperatingSystemConfig:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.Worker:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.ContainerRuntime:
		return &o.Spec.DefaultSpec
	case *extensionsv1alpha1.Extension:
		return &o.Spec.DefaultSpec
	}
	panic("no spec of " + typeName(o))
}

// TestA9MigrateWins: a request to migrate wins over a deletion, and the object then goes without any effect outside.
func TestA9MigrateWins(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		b := reconciled(t, c, o)
		before := c.IDs()
		b.annotate(o, "migrate")
		b.delete(o)
		b.settle(o)
		if b.exists(o) {
			t.Errorf("the object is still there, last operation %s", last(o))
		}
		if diff := cmp.Diff(before, c.IDs()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMigrate holds the clauses about an object that has been migrated: those that docs/contract.md gives it.
func TestMigrate(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		b := reconciled(t, c, o)
		b.get(o)
		state := o.GetExtensionStatus().GetState().DeepCopy()
		resources := o.GetExtensionStatus().GetResources()
		writes, calls := touched(b, func() { b.ask(o, "migrate") })
		if len(calls) > 0 {
			t.Errorf("B1: the cloud was called: %v", calls)
		}
		b.get(o)
		own := only(writes, o)
		if got := own[max(len(own)-3, 0):]; !cmp.Equal(got, []string{"succeeded", "no finalizer", "no request"}) {
			t.Errorf("B7: the writes to the object end with %v", got)
		}
		if last(o) != "Migrate/Succeeded/100" || len(o.GetFinalizers()) > 0 {
			t.Errorf("B6: %s with finalizers %v", last(o), o.GetFinalizers())
		}
		if diff := cmp.Diff(state, o.GetExtensionStatus().GetState()); diff != "" {
			t.Errorf("B9: the state has changed: %s", diff)
		}
		if diff := cmp.Diff(resources, o.GetExtensionStatus().GetResources()); diff != "" {
			t.Errorf("B9: the resources have changed: %s", diff)
		}
		b.annotate(o, "reconcile")
		b.change(o, func() { o.SetGeneration(9) })
		untouched(t, b, "a request to reconcile", func() { b.settle(o); b.restart(); b.settle(o) })
		_, calls = touched(b, func() { b.ask(o, "migrate"); b.ask(o, "migrate") })
		b.get(o)
		if len(calls) > 0 || last(o) != "Migrate/Succeeded/100" {
			t.Errorf("repeated migrations gave %s and cloud calls %v", last(o), calls)
		}
		untouched(t, b, "a deletion", func() { b.delete(o); b.settle(o) })
		if b.exists(o) {
			t.Error("the object did not disappear at once")
		}
	})
}

// TestA12BackMigration: restore on an object that was migrated, also one on which migration was not finished.
func TestA12BackMigration(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		b := reconciled(t, c, o)
		before := c.IDs()
		b.ask(o, "migrate")
		b.ask(o, "restore")
		b.get(o)
		if last(o) != "Restore/Succeeded/100" || len(o.GetFinalizers()) != 1 {
			t.Errorf("got %s with finalizers %v", last(o), o.GetFinalizers())
		}
		if diff := cmp.Diff(before, c.IDs()); diff != "" {
			t.Error(diff)
		}
		b.ask(o, "reconcile")
		b.get(o)
		if last(o) != "Reconcile/Succeeded/100" {
			t.Errorf("D13: later the type is %s", last(o))
		}
	})
}

// TestA13FailedShoot: nothing is done for a failed shoot, and the request is not lost.
func TestA13FailedShoot(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		b := reconciled(t, cloudtest.NewLandscape(t), o)
		b.setShoot(func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation = &gardencorev1beta1.LastOperation{State: gardencorev1beta1.LastOperationStateFailed}
		})
		b.annotate(o, "reconcile")
		untouched(t, b, "a failed shoot", func() {
			if _, err := b.once(o); err != nil {
				t.Error(err)
			}
		})
		b.setShoot(func(*gardencorev1beta1.Shoot) {})
		b.settle(o)
		b.get(o)
		if last(o) != "Reconcile/Succeeded/100" || o.GetAnnotations()["gardener.cloud/operation"] != "" {
			t.Errorf("after the shoot was given another chance: %s", last(o))
		}
	})
}

// TestB12NeverReconciled: migration of an object that nobody has ever looked at ends well.
func TestB12NeverReconciled(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		b, o := newBench(t, "a", cloudtest.NewLandscape(t), 1), fresh()
		b.create(o)
		_, calls := touched(b, func() { b.ask(o, "migrate") })
		b.get(o)
		if last(o) != "Migrate/Succeeded/100" || len(calls) > 0 || o.GetAnnotations()["gardener.cloud/operation"] != "" {
			t.Errorf("got %s, cloud calls %v", last(o), calls)
		}
	})
}

// TestB11NoCloud: migration works without the cloud.
func TestB11NoCloud(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		b := reconciled(t, c, o)
		c.Refuse(func(string, string) *cloud.Error {
			return &cloud.Error{Code: cloud.CodeUnauthenticated, Reason: "AuthFailure", Message: "authentication failed"}
		})
		b.ask(o, "migrate")
		b.get(o)
		if last(o) != "Migrate/Succeeded/100" {
			t.Errorf("got %s", last(o))
		}
	})
}

// moved restores the object on another seed from what a gardenlet has saved of it.
func moved(t *testing.T, from *bench, o extensionsv1alpha1.Object, fresh func() extensionsv1alpha1.Object) (*bench,
	extensionsv1alpha1.Object) {
	t.Helper()
	from.get(o)
	to := newBench(t, "b", from.cloud, from.epoch+1)
	carrySecrets(t, from, to)
	there := fresh()
	there.SetUID("uid-on-b")
	to.create(there)
	to.annotate(there, "wait-for-state")
	to.settle(there)
	to.changeStatus(there, func() {
		there.GetExtensionStatus().SetState(o.GetExtensionStatus().GetState().DeepCopy())
		there.GetExtensionStatus().SetResources(o.GetExtensionStatus().GetResources())
	})
	return to, there
}

// TestRestore holds the clauses about a restoration on another seed: those that docs/contract.md gives it.
func TestRestore(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		a := reconciled(t, c, o)
		a.ask(o, "reconcile") // any reconciliation leaves a state that suffices
		before := c.IDs()
		a.ask(o, "migrate")
		b, there := moved(t, a, o, fresh)
		b.ask(there, "restore")
		b.get(there)
		if last(there) != "Restore/Succeeded/100" {
			t.Fatalf("lastOperation is %s", last(there))
		}
		if diff := cmp.Diff(before, c.IDs()); diff != "" {
			t.Errorf("D1: the cloud has changed: %s", diff)
		}
		a.get(o)
		if diff := cmp.Diff(o.GetExtensionStatus().GetProviderStatus(),
			there.GetExtensionStatus().GetProviderStatus()); diff != "" {
			t.Errorf("D3: the provider status differs: %s", diff)
		}
		if diff := cmp.Diff(o.GetExtensionStatus().GetState(), there.GetExtensionStatus().GetState()); diff != "" {
			t.Errorf("C3: the state differs: %s", diff)
		}
		if own := only(b.written(), there); len(own) == 0 || own[0] != "finalizer" {
			t.Errorf("D2: the writes begin with %v", own)
		}
		_, calls := touched(b, func() { b.ask(there, "restore"); b.ask(there, "reconcile") })
		if len(calls) > 0 {
			t.Errorf("D9, D10: repeated, the cloud was called: %v", calls)
		}
	})
}

// TestE1DeleteAfterRestore: nothing is forgotten because it moved.
func TestE1DeleteAfterRestore(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, fresh func() extensionsv1alpha1.Object) {
		o := fresh()
		c := cloudtest.NewLandscape(t)
		empty := c.IDs()
		a := reconciled(t, c, o)
		a.ask(o, "migrate")
		b, there := moved(t, a, o, fresh)
		b.ask(there, "restore")
		b.delete(there)
		b.settle(there)
		if b.exists(there) {
			t.Errorf("the object is still there: %s", last(there))
		}
		if diff := cmp.Diff(empty, c.IDs()); diff != "" {
			t.Errorf("something is left in the cloud: %s", diff)
		}
	})
}

// carrySecrets moves the Secrets that a gardenlet persists.
func carrySecrets(t *testing.T, from, to *bench) {
	t.Helper()
	secrets := secretsOf(t, from, client.MatchingLabels{"persist": "true"})
	for _, secret := range secrets {
		secret.ResourceVersion, secret.UID = "", ""
		if err := to.base.Create(t.Context(), &secret); err != nil {
			t.Fatal(err)
		}
	}
}
