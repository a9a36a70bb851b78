package run

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// A run asks the garden once a second at most, for progress, or to see whether the shoot is its own; beside that come
// its begin and its end. While progress is written it reads nothing.
func TestRun_AsksTheGardenOnceASecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause         time.Duration // between two steps of progress
		reads, writes int32
	}{
		"tasks end all the time": {300 * time.Millisecond, 1, 33},
		"tasks end now and then": {5 * time.Second, 31, 9},
		"one long task":          {time.Minute, 31, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := begun(t)
				o.Clock, o.WaitInterval, o.Shoot.Status.UID = clock.RealClock{}, time.Second, "u"
				a, _ := count(o)
				runner := &Runner{Version: "v1", Events: &controlplanetest.EventReasons{},
					Periods: Periods{Retry: time.Hour, Progress: time.Second}}
				work := func(ctx context.Context, reporter *Reporter) error {
					end := time.After(30 * time.Second)
					for i := int32(0); ; i++ {
						reporter.Observe(flow.Progress{Percent: i, Running: []flow.TaskID{flow.TaskID(fmt.Sprint(i))}})
						select {
						case <-time.After(c.pause):
						case <-end:
							return nil
						}
					}
				}
				if err := runner.Run(t.Context(), o.Scope, Flow{Type: "Reconcile", Work: work}); err != nil {
					t.Fatal(err)
				}
				if reads, writes := a.reads.Load(), a.writes.Load(); reads > c.reads || writes > c.writes {
					t.Errorf("%d reads, want at most %d, and %d writes, want at most %d", reads, c.reads, writes, c.writes)
				}
			})
		})
	}
}

// Who is about to write, and gets no answer, holds the watch up for a quarter of the interval each time.
func TestWatch_WriteHangs_AsksAllTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := begun(t)
		o.Clock, o.WaitInterval = clock.RealClock{}, time.Second
		a, _ := count(o)
		ctx, cancel := context.WithCancelCause(t.Context())
		go o.watch(ctx, cancel, func() bool { return true })
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if reads := a.reads.Load(); reads != 8 {
			t.Errorf("%d reads in ten seconds, want 8", reads)
		}
		cancel(nil)
	})
}
