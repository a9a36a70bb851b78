package run

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// failing is a graph of which two tasks fail, one with a code, and one succeeds.
func failing(code gardencorev1beta1.ErrorCode) *flow.Graph {
	g := &flow.Graph{}
	g.Add(flow.Task{Name: "Deploying a", Run: func(context.Context) error {
		return fmt.Errorf("ask the cloud: %w",
			&errorcodes.Error{Message: "it says no", Codes: []gardencorev1beta1.ErrorCode{code}})
	}})
	g.Add(flow.Task{Name: "Deploying b", Run: func(context.Context) error { return nil }})
	g.Add(flow.Task{Name: "Deploying c", Run: func(context.Context) error { return errors.New("no answer") }})
	return g
}

// Each task that has failed is reported with its name and its codes (docs/specification/migration.md#spec-2-12,
// docs/specification/care.md#spec-5-9).
func TestEachFailedTaskHasItsOwnLastError(t *testing.T) {
	t.Parallel()
	for code, want := range map[gardencorev1beta1.ErrorCode]gardencorev1beta1.LastOperationState{
		gardencorev1beta1.ErrorInfraResourcesDepleted: gardencorev1beta1.LastOperationStateError,
		gardencorev1beta1.ErrorInfraQuotaExceeded:     gardencorev1beta1.LastOperationStateFailed, // no retry mends it
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			o := begun(t)
			if err := o.Fail(t.Context(), failing(code).Run(t.Context(), nil), time.Hour); err != nil {
				t.Fatal(err)
			}
			type failure struct {
				Task, Description string
				Codes             []gardencorev1beta1.ErrorCode
			}
			var got []failure
			status := inGarden(t, o).Status
			for _, last := range status.LastErrors {
				if last.TaskID == nil || last.LastUpdateTime == nil || !last.LastUpdateTime.Time.Equal(o.Clock.Now()) {
					t.Fatalf("no task, or another time: %+v", last)
				}
				got = append(got, failure{*last.TaskID, last.Description, last.Codes})
			}
			if diff := cmp.Diff([]failure{
				{"Deploying a", `task "Deploying a": ask the cloud: it says no`, []gardencorev1beta1.ErrorCode{code}},
				{"Deploying c", `task "Deploying c": no answer`, nil},
			}, got); diff != "" {
				t.Errorf("last errors (-want +got):\n%s", diff)
			}
			if status.LastOperation.State != want {
				t.Errorf("the state is %s, want %s", status.LastOperation.State, want)
			}
		})
	}
}

// quiet hears of events and forgets them.
type quiet struct{}

func (quiet) Event(*gardencorev1beta1.Shoot, string, string, string) {}

// What fails again and again is tried for as long as the retry duration, from the first try on, and then no more.
func TestAnErrorBecomesAFailureAfterTheRetryDuration(t *testing.T) {
	t.Parallel()
	o := begun(t)
	shoot := inGarden(t, o)
	shoot.Status.UID = "u"
	if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	o.Shoot, o.Log, o.WaitInterval = shoot, logr.Discard(), time.Second
	clock := o.Clock.(*testingclock.FakeClock)
	runner := &Runner{Version: "v1", Events: quiet{}, Periods: Periods{Retry: time.Hour, Progress: time.Second}}
	work := Flow{Type: gardencorev1beta1.LastOperationTypeReconcile,
		Work: func(ctx context.Context, reporter *Reporter) error {
			return failing(gardencorev1beta1.ErrorInfraResourcesDepleted).Run(ctx, reporter)
		}}
	for _, c := range []struct {
		later time.Duration
		want  gardencorev1beta1.LastOperationState
	}{
		{0, "Error"}, {30 * time.Minute, "Error"}, {30 * time.Minute, "Error"}, {time.Second, "Failed"},
	} {
		clock.Step(c.later)
		err := runner.Run(t.Context(), o.Scope, work)
		if again := err != nil; again != (c.want == "Error") {
			t.Errorf("%s after the first try: tried again: %t, %v", clock.Since(time.Unix(1000, 0)), again, err)
		}
		status := inGarden(t, o).Status
		if status.LastOperation.State != c.want || len(status.LastErrors) != 2 {
			t.Errorf("%s after the first try: %s with %d errors, want %s with 2", clock.Since(time.Unix(1000, 0)),
				status.LastOperation.State, len(status.LastErrors), c.want)
		}
	}
	if !lifecycle.Stuck(o.Shoot) {
		t.Error("a shoot that has failed for good is tried again")
	}
	// Who asks for a retry asks for more than one attempt.
	if err := runner.Run(t.Context(), o.Scope, work); err == nil {
		t.Error("after a failure the first attempt that was asked for is not tried again")
	}
	if status := inGarden(t, o).Status; status.LastOperation.State != "Error" {
		t.Errorf("after a failure the first attempt that was asked for ends as %s, want Error", status.LastOperation.State)
	}
}
