package migration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func seedReady(version string) *gardencorev1beta1.Seed {
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: 2}}
	seed.Status.Gardener = &gardencorev1beta1.Gardener{Version: version}
	seed.Status.ObservedGeneration = 2
	for _, condition := range []gardencorev1beta1.ConditionType{gardencorev1beta1.SeedGardenletReady,
		gardencorev1beta1.SeedSystemComponentsHealthy} {
		seed.Status.Conditions = append(seed.Status.Conditions, gardencorev1beta1.Condition{Type: condition,
			Status: gardencorev1beta1.ConditionTrue})
	}
	return seed
}

// The rows of docs/specification/migration.md#spec-2-4.
func TestReadyForMigration(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, c := range map[string]struct {
		spoil          func(source, destination *gardencorev1beta1.Seed)
		status, reason string
		retry          bool
	}{
		"destination is fine": {func(_, _ *gardencorev1beta1.Seed) {}, "True", "DestinationSeedReady", false},
		"source is gone for good": {func(s, _ *gardencorev1beta1.Seed) {
			*s = gardencorev1beta1.Seed{}
		}, "True", "DestinationSeedReady", false},
		"source is unhealthy": {func(s, _ *gardencorev1beta1.Seed) {
			s.Status.Conditions = nil
		}, "True", "DestinationSeedReady", false},
		"destination in deletion": {func(_, d *gardencorev1beta1.Seed) {
			d.DeletionTimestamp = &now
		}, "False", "DestinationSeedInDeletion", false},
		"versions differ": {func(_, d *gardencorev1beta1.Seed) {
			d.Status.Gardener.Version = "v2"
		}, "False", "DestinationSeedUnready", true},
		"never seen": {func(_, d *gardencorev1beta1.Seed) {
			d.Status.Gardener = nil
		}, "False", "DestinationSeedUnready", true},
		"generation not observed": {func(_, d *gardencorev1beta1.Seed) {
			d.Generation = 3
		}, "False", "DestinationSeedUnready", true},
		"gardenlet not ready": {func(_, d *gardencorev1beta1.Seed) {
			d.Status.Conditions[0].Status = "Unknown"
		}, "False", "DestinationSeedUnready", true},
		"system components unhealthy": {func(_, d *gardencorev1beta1.Seed) {
			d.Status.Conditions = d.Status.Conditions[:1]
		}, "False", "DestinationSeedUnready", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, destination := seedReady("v1"), seedReady("v1")
			c.spoil(source, destination)
			got, retry := judge(source, destination)
			if string(got.Status) != c.status || got.Reason != c.reason || retry != c.retry {
				t.Errorf("got %s %s (look again: %t), want %s %s (%t)", got.Status, got.Reason, retry, c.status, c.reason, c.retry)
			}
		})
	}
}

func shootOn(spec, status, operation, state string) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{}
	if spec != "" {
		shoot.Spec.SeedName = ptr.To(spec)
	}
	if status != "" {
		shoot.Status.SeedName = ptr.To(status)
	}
	if operation != "" {
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: gardencorev1beta1.LastOperationType(operation), State: gardencorev1beta1.LastOperationState(state),
		}
	}
	return shoot
}

// The state is replaced only where the whole control plane is. The second row is
// docs/specification/quirks.md#quirk-s4.
func TestOnlyTheSeedThatHoldsTheControlPlaneReplacesItsState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shoot *gardencorev1beta1.Shoot
		want  bool
	}{
		"lives here": {shootOn("b", "b", "Reconcile", "Succeeded"), true},
		"bound here while the source still has it": {shootOn("b", "a", "Reconcile", "Succeeded"), false},
		"reconciliation fails":                     {shootOn("b", "b", "Reconcile", "Error"), true},
		"created":                                  {shootOn("b", "b", "Create", "Succeeded"), true},
		"creation under way":                       {shootOn("b", "", "Create", "Processing"), false},
		"on its way elsewhere":                     {shootOn("c", "b", "Migrate", "Processing"), false},
		"handed over, not restored":                {shootOn("b", "b", "Migrate", "Succeeded"), false},
		"restoration under way":                    {shootOn("b", "b", "Restore", "Error"), false},
		"restored":                                 {shootOn("b", "b", "Restore", "Succeeded"), true},
		"lives elsewhere":                          {shootOn("a", "a", "Reconcile", "Succeeded"), false},
		"on no seed":                               {shootOn("", "b", "Reconcile", "Succeeded"), false},
	} {
		if got := holdsState(c.shoot, "b"); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestASourceCleansUpOnlyAfterTheRestore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shoot *gardencorev1beta1.Shoot
		want  bool
	}{
		"lives here":                {shootOn("a", "a", "Reconcile", "Succeeded"), false},
		"on its way":                {shootOn("b", "a", "Migrate", "Processing"), false},
		"handed over, not restored": {shootOn("b", "b", "Migrate", "Succeeded"), false},
		"restoration under way":     {shootOn("b", "b", "Restore", "Processing"), false},
		"restoration fails":         {shootOn("b", "b", "Restore", "Error"), false},
		"restored":                  {shootOn("b", "b", "Restore", "Succeeded"), true},
		"long restored":             {shootOn("b", "b", "Reconcile", "Error"), true},
		"deleted over there":        {shootOn("b", "b", "Delete", "Processing"), true},
		"on its way back":           {shootOn("a", "b", "Migrate", "Processing"), false},
	} {
		if got := movedAway(c.shoot, "a"); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
