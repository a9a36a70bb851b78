package health

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const available = gardencorev1beta1.ShootAPIServerAvailable

func operation(kind gardencorev1beta1.LastOperationType, state gardencorev1beta1.LastOperationState,
	before time.Duration) *gardencorev1beta1.LastOperation {
	return &gardencorev1beta1.LastOperation{Type: kind, State: state, LastUpdateTime: ago(before)}
}

// TestFail: the rows of docs/specification/care.md#spec-5-3.
func TestFail(t *testing.T) {
	t.Parallel()
	longAgo := operation("Reconcile", "Succeeded", time.Hour)
	for _, c := range []struct {
		name        string
		current     gardencorev1beta1.ConditionStatus
		since       time.Duration
		reason      string // of before; "Failing" unless set
		noThreshold bool
		last        *gardencorev1beta1.LastOperation
		errs        int
		want        gardencorev1beta1.ConditionStatus
	}{
		{name: "True, threshold", current: "True", since: time.Hour, want: "Progressing"},
		{name: "True, no threshold", current: "True", since: time.Hour, noThreshold: true, want: "False"},
		{name: "Progressing, within the threshold", current: "Progressing", since: time.Minute, want: "Progressing"},
		{name: "Progressing, beyond the threshold", current: "Progressing", since: time.Minute + time.Second, want: "False"},
		{name: "Progressing, no threshold", current: "Progressing", since: time.Second, noThreshold: true, want: "False"},
		{name: "Progressing, operation just succeeded", current: "Progressing", since: time.Hour,
			last: operation("Reconcile", "Succeeded", time.Minute), want: "Progressing"},
		{name: "Progressing, operation in error just now", current: "Progressing", since: time.Hour,
			last: operation("Reconcile", "Error", time.Second), want: "False"},
		{name: "False, same reason", current: "False", since: time.Second, want: "False"},
		{name: "False, reason changed", current: "False", since: time.Hour, reason: "Other", want: "Progressing"},
		{name: "False, operation just succeeded", current: "False", since: time.Hour,
			last: operation("Reconcile", "Succeeded", time.Second), want: "Progressing"},
		{name: "False, no threshold, reason changed", current: "False", since: time.Hour, reason: "Other", noThreshold: true,
			want: "False"},
		{name: "Unknown", current: "Unknown", since: time.Second, want: "False"},
		{name: "pardoned: no operation yet", current: "False", since: time.Hour, last: &gardencorev1beta1.LastOperation{},
			want: "Progressing"},
		{name: "pardoned: Create", current: "False", since: time.Hour, last: operation("Create", "Error", time.Hour), errs: 1,
			want: "Progressing"},
		{name: "pardoned: Delete", current: "Unknown", since: time.Hour, last: operation("Delete", "Processing", time.Hour),
			errs: 1, want: "Progressing"},
		{name: "pardoned: Processing without errors", current: "False", since: time.Hour,
			last: operation("Migrate", "Processing", time.Hour), want: "Progressing"},
		{name: "not pardoned: Processing with errors", current: "False", since: time.Hour,
			last: operation("Migrate", "Processing", time.Hour), errs: 1, want: "False"},
		{name: "not pardoned: created", current: "False", since: time.Hour, last: operation("Create", "Succeeded", time.Hour),
			want: "False"},
		{name: "not pardoned: failed", current: "False", since: time.Hour, last: operation("Restore", "Failed", time.Hour),
			want: "False"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			transitions := transitions{Now: noon, LastOperation: longAgo, LastErrors: make([]gardencorev1beta1.LastError,
				c.errs)}
			switch {
			case c.last != nil && c.last.Type == "":
				transitions.LastOperation = nil
			case c.last != nil:
				transitions.LastOperation = c.last
			}
			if !c.noThreshold {
				transitions.Thresholds = map[gardencorev1beta1.ConditionType]time.Duration{available: time.Minute}
			}
			if c.reason == "" {
				c.reason = "Failing"
			}
			before := gardencorev1beta1.Condition{Type: available, Status: c.current, Reason: c.reason,
				LastTransitionTime: ago(c.since), LastUpdateTime: ago(c.since)}
			after := transitions.fail(before, *failure("Failing", "it is failing"))
			if after.Status != c.want || after.Reason != "Failing" {
				t.Errorf("%s, %s", after.Status, after.Reason)
			}
			wantTransition := ago(c.since)
			if c.want != c.current {
				wantTransition = ago(0)
			}
			if !after.LastTransitionTime.Equal(&wantTransition) {
				t.Errorf("transition at %s, want %s", after.LastTransitionTime, wantTransition)
			}
		})
	}
}

// TestAFlappingComponentIsNeverFalse, and one that keeps failing is False once its threshold has passed, not before.
func TestAFlappingComponentIsNeverFalse(t *testing.T) {
	t.Parallel()
	transitions := transitions{
		Now: noon, LastOperation: operation("Reconcile", "Succeeded", time.Hour),
		Thresholds: map[gardencorev1beta1.ConditionType]time.Duration{available: time.Minute},
	}
	c := transitions.succeed(transitions.find(nil, available), "Fine", "")
	var seen []gardencorev1beta1.ConditionStatus
	look := func(ok bool, after time.Duration) {
		transitions.Now = transitions.Now.Add(after)
		if ok {
			c = transitions.succeed(c, "Fine", "")
		} else {
			c = transitions.fail(c, *failure("Failing", ""))
		}
		seen = append(seen, c.Status)
	}
	for range 10 {
		look(false, 30*time.Second)
		look(false, 30*time.Second)
		look(true, 20*time.Second)
	}
	if slices.Contains(seen, gardencorev1beta1.ConditionFalse) {
		t.Errorf("it was seen False: %v", seen)
	}
	seen = nil
	for range 4 {
		look(false, 30*time.Second)
	}
	look(true, time.Second)
	if diff := cmp.Diff([]gardencorev1beta1.ConditionStatus{"Progressing", "Progressing", "Progressing", "False", "True"},
		seen); diff != "" {
		t.Error(diff)
	}
}

// TestTimesOfConditions: nothing changes, nothing is written; a message changes LastUpdateTime alone.
func TestTimesOfConditions(t *testing.T) {
	t.Parallel()
	before := gardencorev1beta1.Condition{Type: available, Status: "True", Reason: "Fine", Message: "all",
		LastTransitionTime: ago(time.Hour), LastUpdateTime: ago(time.Hour)}
	transitions := transitions{Now: noon}
	if diff := cmp.Diff(before, transitions.succeed(before, "Fine", "all")); diff != "" {
		t.Error(diff)
	}
	want := before
	want.Message, want.LastUpdateTime = "most", ago(0)
	if diff := cmp.Diff(want, transitions.succeed(before, "Fine", "most")); diff != "" {
		t.Error(diff)
	}
	// A pardoned condition that keeps failing does not seem to change in every round.
	transitions.LastOperation = operation("Create", "Processing", time.Hour)
	first := transitions.fail(before, *failure("Failing", "x"))
	transitions.Now = noon.Add(time.Hour)
	if diff := cmp.Diff(first, transitions.fail(first, *failure("Failing", "x"))); diff != "" {
		t.Error(diff)
	}
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	conditions := []gardencorev1beta1.Condition{
		{Type: "A", Status: "True", LastTransitionTime: ago(time.Hour), Reason: "Fine"},
		{Type: "B", Status: "False", LastTransitionTime: ago(time.Hour)},
		{Type: "C", Status: "Unknown"}, {Type: "D", Status: "Progressing", LastTransitionTime: ago(time.Hour)},
	}
	var got []string
	for _, c := range handOver(conditions, noon) {
		got = append(got, string(c.Type)+" "+string(c.Status))
	}
	if diff := cmp.Diff([]string{"A Progressing", "B False", "C Progressing", "D Progressing"}, got); diff != "" {
		t.Error(diff)
	}
	if after := handOver(conditions, noon)[0]; after.Reason != "Fine" ||
		!after.LastTransitionTime.Equal(&metav1.Time{Time: noon}) || conditions[0].Status != "True" {
		t.Errorf("%+v", after)
	}
}

// TestForeignConditionsAreKept, in their order; conditions that no longer apply go.
func TestForeignConditionsAreKept(t *testing.T) {
	t.Parallel()
	o := healthy()
	o.Shoot.Status.Conditions = append([]gardencorev1beta1.Condition{{Type: "Theirs", Status: "False"}},
		o.Shoot.Status.Conditions...)
	before := slices.Clone(o.Shoot.Status.Conditions)
	after := Conditions(o, config(), noon)
	again := healthy()
	again.Shoot.Status.Conditions = after
	if diff := cmp.Diff(after, Conditions(again, config(), noon.Add(10*time.Second))); diff != "" {
		t.Errorf("a second look changed:\n%s", diff)
	}
	if len(after) != len(before) || after[0].Type != "Theirs" || after[0].Status != "False" {
		t.Errorf("%+v", after)
	}
	again.Shoot.Spec.Provider.Workers = nil
	if slices.ContainsFunc(Conditions(again, config(), noon), func(c gardencorev1beta1.Condition) bool {
		return c.Type == "EveryNodeReady"
	}) {
		t.Error("a shoot without workers has a condition about nodes")
	}
	bare := healthy()
	bare.ManagedResources.Items, bare.Shoot.Status.Conditions = nil, nil
	if slices.ContainsFunc(Conditions(bare, Config{}, noon), func(c gardencorev1beta1.Condition) bool {
		return c.Type == "ObservabilityComponentsHealthy"
	}) {
		t.Error("where nothing watches there is a condition about what watches")
	}
}

// TestNotChecked: what is said of a shoot that sleeps, or that nobody could look at.
func TestNotChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Observation)
		status gardencorev1beta1.ConditionStatus
		reason string
	}{
		"wanted to sleep": {change: func(o *Observation) {
			o.Shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			o.APIServer, o.Etcds.Items = nil, nil
		}, status: "True", reason: "ConditionNotChecked"},
		"not awake yet": {change: func(o *Observation) {
			o.Shoot.Status.IsHibernated, o.APIServer = true, nil
		}, status: "True", reason: "ConditionNotChecked"},
		"nobody could look": {change: func(o *Observation) {
			o.Err = errAway
		}, status: "Unknown", reason: "ConditionCheckError"},
		"it is fine and well": {change: func(*Observation) {}, status: "True"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := healthy()
			c.change(o)
			for _, got := range Conditions(o, config(), noon) {
				if got.Status != c.status || c.reason != "" && got.Reason != c.reason {
					t.Errorf("%s is %s, %s", got.Type, got.Status, got.Reason)
				}
			}
		})
	}
}
