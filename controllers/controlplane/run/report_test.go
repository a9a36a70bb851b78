package run

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// becomes waits until the garden has a progress and its tasks.
func becomes(t *testing.T, o *Status, percent int32, tasks string) {
	t.Helper()
	var got string
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			last := inGarden(t, o).Status.LastOperation
			got = last.Description
			return last.Progress == percent && last.Description == tasks, nil
		})
	if err != nil {
		t.Fatalf("the garden has %q, want %q", got, tasks)
	}
}

// The newest progress of a period is written at its end, what it has replaced is not; the end of the flow, which writes
// a status of its own, does not wait for the period.
func TestProgressIsWrittenOnceAPeriodAndTheEndWaitsForNone(t *testing.T) {
	t.Parallel()
	o := begun(t)
	clock := o.Clock.(*testingclock.FakeClock)
	reporter := o.Report(t.Context(), time.Second)
	reporter.Observe(flow.Progress{Percent: 10, Running: []flow.TaskID{"first"}})
	becomes(t, o, 10, "first")

	reporter.Observe(flow.Progress{Percent: 20, Running: []flow.TaskID{"second"}})
	reporter.Observe(flow.Progress{Percent: 30, Running: []flow.TaskID{"third", "fourth"}})
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			return clock.HasWaiters(), nil
		}); err != nil {
		t.Fatal("nobody waits for the rest of the period")
	}
	if got := inGarden(t, o).Status.LastOperation.Description; got != "first" {
		t.Errorf("within the period %q was written", got)
	}
	clock.Step(time.Second)
	becomes(t, o, 30, "third, fourth")

	reporter.Observe(flow.Progress{Percent: 40, Running: []flow.TaskID{"last"}})
	reporter.Stop()
	if got := inGarden(t, o).Status.LastOperation.Description; got != "third, fourth" {
		t.Errorf("%q was written within the period", got)
	}
}

// The errors of an earlier run go one by one, as their tasks succeed; an error of no task stays until the end.
func TestErrorsGoAsTheirTasksSucceed(t *testing.T) {
	t.Parallel()
	o := begun(t)
	shoot := inGarden(t, o)
	for _, task := range []string{"first", "second", ""} {
		e := gardencorev1beta1.LastError{Description: "no luck with " + task}
		if task != "" {
			e.TaskID = &task
		}
		shoot.Status.LastErrors = append(shoot.Status.LastErrors, e)
	}
	if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	reporter := o.Report(t.Context(), 0)
	defer reporter.Stop()
	for _, step := range []struct {
		progress flow.Progress
		want     []string
	}{
		{flow.Progress{Percent: 0, Running: []flow.TaskID{"first"}}, []string{"no luck with first", "no luck with second",
			"no luck with "}},
		{flow.Progress{Percent: 30, Running: []flow.TaskID{"second"}, Succeeded: []flow.TaskID{"first"}},
			[]string{"no luck with second", "no luck with "}},
		{flow.Progress{Percent: 60, Running: []flow.TaskID{"third"}, Succeeded: []flow.TaskID{"first", "second"}},
			[]string{"no luck with "}},
	} {
		reporter.Observe(step.progress)
		becomes(t, o, step.progress.Percent, string(step.progress.Running[0]))
		var got []string
		for _, e := range inGarden(t, o).Status.LastErrors {
			got = append(got, e.Description)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("at %d %%: %q, want %q", step.progress.Percent, got, step.want)
		}
	}
}
