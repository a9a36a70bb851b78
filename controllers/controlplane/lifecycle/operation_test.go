package lifecycle

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// The rows of docs/specification/migration.md#spec-2-3, with the order of docs/ownership.md#spec-9-3 for a shoot that
// is deleted while it is being restored.
func TestOperationType(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	last := func(operation, state string) *gardencorev1beta1.LastOperation {
		return &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationType(operation), State: gardencorev1beta1.LastOperationState(state),
		}
	}
	for name, c := range map[string]struct {
		spec, status string
		last         *gardencorev1beta1.LastOperation
		deleted      bool
		want         string
	}{
		"seeds differ":                         {"b", "a", last("Reconcile", "Succeeded"), false, "Migrate"},
		"seeds differ, migration aborted":      {"b", "a", last("Migrate", "Aborted"), false, "Migrate"},
		"migrated":                             {"b", "b", last("Migrate", "Succeeded"), false, "Restore"},
		"migration aborted, seeds agree":       {"b", "b", last("Migrate", "Aborted"), false, "Restore"},
		"deleted":                              {"a", "a", last("Reconcile", "Succeeded"), true, "Delete"},
		"deleted before it was created":        {"a", "", nil, true, "Delete"},
		"deleted while it is being restored":   {"b", "b", last("Restore", "Error"), true, "Restore"},
		"deleted when it has been restored":    {"b", "b", last("Restore", "Succeeded"), true, "Delete"},
		"new":                                  {"a", "", nil, false, "Create"},
		"creation under way":                   {"a", "", last("Create", "Processing"), false, "Create"},
		"creation failed":                      {"a", "", last("Create", "Error"), false, "Create"},
		"restoration under way":                {"b", "b", last("Restore", "Processing"), false, "Restore"},
		"created":                              {"a", "a", last("Create", "Succeeded"), false, "Reconcile"},
		"restored":                             {"b", "b", last("Restore", "Succeeded"), false, "Reconcile"},
		"reconciliation failed":                {"a", "a", last("Reconcile", "Error"), false, "Reconcile"},
		"migration under way, bound back to a": {"a", "a", last("Migrate", "Error"), false, "Migrate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := &gardencorev1beta1.Shoot{}
			shoot.Spec.SeedName = ptr.To(c.spec)
			if c.status != "" {
				shoot.Status.SeedName = ptr.To(c.status)
			}
			shoot.Status.LastOperation = c.last
			if c.deleted {
				shoot.DeletionTimestamp = &now
			}
			if got := OperationType(shoot); string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestResponsibleSeed(t *testing.T) {
	t.Parallel()
	a, b := ptr.To("a"), ptr.To("b")
	for _, c := range []struct {
		spec, status *string
		want         string
	}{
		{nil, nil, ""}, {nil, a, ""}, {a, nil, "a"}, {a, a, "a"}, {b, a, "a"},
	} {
		if got := ResponsibleSeed(c.spec, c.status); got != c.want {
			t.Errorf("ResponsibleSeed(%v, %v) = %q, want %q", ptr.Deref(c.spec, "nil"), ptr.Deref(c.status, "nil"), got, c.want)
		}
	}
}
