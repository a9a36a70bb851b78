package world_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/world"
)

// required are the conditions of a shoot with workers that must be there.
var required = []string{"APIServerAvailable", "ControlPlaneHealthy", "EveryNodeReady", "SystemComponentsHealthy"}

// each of the required conditions, with the same text.
func each(text string) map[string]string {
	all := map[string]string{}
	for _, kind := range required {
		all[kind] = text
	}
	return all
}

func healthyShoot() *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	shoot.Spec.SeedName = new("a")
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool"}}
	shoot.Status = gardencorev1beta1.ShootStatus{
		SeedName: new("a"), ObservedGeneration: 2,
		LastOperation: &gardencorev1beta1.LastOperation{Type: "Create", State: "Succeeded", Progress: 100},
	}
	for _, kind := range required {
		condition(kind, "True", "", "")(shoot)
	}
	return shoot
}

// condition sets a condition, or removes it if the status is empty.
func condition(kind, status, reason, message string) func(*gardencorev1beta1.Shoot) {
	return func(s *gardencorev1beta1.Shoot) {
		c := gardencorev1beta1.Condition{
			Type: gardencorev1beta1.ConditionType(kind), Status: gardencorev1beta1.ConditionStatus(status),
			Reason: reason, Message: message,
		}
		isOld := func(old gardencorev1beta1.Condition) bool { return old.Type == c.Type }
		if s.Status.Conditions = slices.DeleteFunc(s.Status.Conditions, isOld); status != "" {
			s.Status.Conditions = append(s.Status.Conditions, c)
		}
	}
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	type shoot = *gardencorev1beta1.Shoot
	shallSleep := func(s shoot) { s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)} }
	asleep := func(s shoot) { s.Status.IsHibernated = true }
	unchecked := condition("ControlPlaneHealthy", "True", "ConditionNotChecked", "Shoot cluster has been hibernated.")
	constraint := gardencorev1beta1.Condition{Type: "HibernationPossible", Status: "False"}
	for name, c := range map[string]struct {
		changes    []func(shoot)
		notHealthy bool
		problems   []string
	}{
		"Created":             {},
		"Restored":            {changes: []func(shoot){func(s shoot) { s.Status.LastOperation.Type = "Restore" }}},
		"Hibernated":          {changes: []func(shoot){shallSleep, asleep, unchecked}},
		"WorkerlessWithNodes": {changes: []func(shoot){func(s shoot) { s.Spec.Provider.Workers = nil }}},
		"WorkerlessWithoutNodes": {changes: []func(shoot){
			func(s shoot) { s.Spec.Provider.Workers = nil }, condition("EveryNodeReady", "", "", ""),
		}},
		"ObservedAndTrue": {changes: []func(shoot){condition("ObservabilityComponentsHealthy", "True", "", "")}},
		"ConstraintFalse": {changes: []func(shoot){
			func(s shoot) { s.Status.Constraints = []gardencorev1beta1.Condition{constraint} },
		}},
		"NoOperation": {
			changes: []func(shoot){func(s shoot) { s.Status.LastOperation = nil }}, notHealthy: true,
		},
		"Processing": {
			changes: []func(shoot){func(s shoot) { s.Status.LastOperation.State = "Processing" }}, notHealthy: true,
		},
		"Error": {
			changes: []func(shoot){func(s shoot) { s.Status.LastOperation.State = "Error" }}, notHealthy: true,
		},
		"MigratedAndNotRestored": {
			changes: []func(shoot){func(s shoot) { s.Status.LastOperation.Type = "Migrate" }}, notHealthy: true,
		},
		"BoundElsewhere": {
			changes:    []func(shoot){func(s shoot) { s.Spec.SeedName = new("b") }},
			notHealthy: true, problems: []string{`it runs on seed "a" and is bound to "b"`},
		},
		"OnNoSeed": {
			changes:    []func(shoot){func(s shoot) { s.Spec.SeedName, s.Status.SeedName = nil, nil }},
			notHealthy: true, problems: []string{`it runs on seed "" and is bound to ""`},
		},
		"FallsAsleep": {
			changes:    []func(shoot){shallSleep},
			notHealthy: true, problems: []string{"hibernated is false and shall be true"},
		},
		"WakesUp": {
			changes:    []func(shoot){asleep},
			notHealthy: true, problems: []string{"hibernated is true and shall be false"},
		},
		"GenerationNotObserved": {
			changes:    []func(shoot){func(s shoot) { s.Generation = 3 }},
			notHealthy: true, problems: []string{"generation 2 is observed, 3 is asked for"},
		},
		"BeingDeleted": {
			changes:    []func(shoot){func(s shoot) { s.DeletionTimestamp = new(metav1.Now()) }},
			notHealthy: true, problems: []string{"its deletion was asked for"},
		},
		"ConditionFalse": {
			changes:    []func(shoot){condition("EveryNodeReady", "False", "MissingNodes", "Not enough\nworker nodes")},
			notHealthy: true, problems: []string{"EveryNodeReady is False (MissingNodes: Not enough worker nodes)"},
		},
		"ConditionUnknown": {
			changes:    []func(shoot){condition("APIServerAvailable", "Unknown", "", "")},
			notHealthy: true, problems: []string{"APIServerAvailable is Unknown"},
		},
		"DaemonSetNeverApplied": {
			changes:    []func(shoot){condition("SystemComponentsHealthy", "Progressing", "ApplyFailed", "it is invalid")},
			notHealthy: true, problems: []string{"SystemComponentsHealthy is Progressing (ApplyFailed: it is invalid)"},
		},
		"ObservedAndUnknown": {
			changes:    []func(shoot){condition("ObservabilityComponentsHealthy", "Unknown", "", "")},
			notHealthy: true, problems: []string{"ObservabilityComponentsHealthy is Unknown"},
		},
		"UsersConditionUnknown": {
			changes:    []func(shoot){condition("Billed", "Unknown", "", "")},
			notHealthy: true, problems: []string{"Billed is Unknown"},
		},
		"NoConditions": {
			changes:    []func(shoot){func(s shoot) { s.Status.Conditions = nil }},
			notHealthy: true, problems: []string{
				"condition APIServerAvailable is missing", "condition ControlPlaneHealthy is missing",
				"condition SystemComponentsHealthy is missing", "condition EveryNodeReady is missing",
			},
		},
		"NodesNotLookedAt": {
			changes:    []func(shoot){condition("EveryNodeReady", "", "", "")},
			notHealthy: true, problems: []string{"condition EveryNodeReady is missing"},
		},
		"NotLookedAtSinceItSlept": {
			changes:    []func(shoot){unchecked},
			notHealthy: true,
			problems:   []string{"ControlPlaneHealthy is True (ConditionNotChecked: Shoot cluster has been hibernated.)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := healthyShoot()
			for _, change := range c.changes {
				change(object)
			}
			got := world.DescribeShoot(object)
			if got.Healthy == c.notHealthy {
				t.Errorf("healthy is %t, want %t", got.Healthy, !c.notHealthy)
			}
			if diff := cmp.Diff(c.problems, got.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// A rotation shows when it is complete.
func TestDescribeShoot_Rotated(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	for name, c := range map[string]struct {
		rotation *gardencorev1beta1.ShootSSHKeypairRotation
		want     []string
	}{
		"never":     {nil, nil},
		"under way": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(2)}, nil},
		"under way again": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(2), LastCompletionTime: at(1)},
			nil},
		"complete": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(2), LastCompletionTime: at(3)},
			[]string{"sshKeypair"}},
		"complete at once": {&gardencorev1beta1.ShootSSHKeypairRotation{LastInitiationTime: at(2), LastCompletionTime: at(2)},
			[]string{"sshKeypair"}},
	} {
		object := healthyShoot()
		object.Status.Credentials = &gardencorev1beta1.ShootCredentials{Rotation: &gardencorev1beta1.ShootCredentialsRotation{
			SSHKeypair: c.rotation}}
		if diff := cmp.Diff(c.want, world.DescribeShoot(object).Rotated); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
