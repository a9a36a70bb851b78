package run

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// A run asks the garden once a second at most, for progress, or to see whether the shoot is its own; beside that come
// its begin and its end. While the watch of shoots shows that it is, it asks in each fifth second only.
func TestRun_AsksTheGardenOnceASecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause         time.Duration // between two steps of progress
		watched       bool
		reads, writes [2]int32 // at least and at most
	}{
		"tasks end all the time": {300 * time.Millisecond, true, [2]int32{0, 1}, [2]int32{28, 33}},
		"tasks end now and then": {6 * time.Second, true, [2]int32{4, 6}, [2]int32{7, 8}},
		"one long task":          {time.Minute, true, [2]int32{5, 7}, [2]int32{2, 3}},
		"without a watch":        {time.Minute, false, [2]int32{28, 31}, [2]int32{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := begun(t)
				o.Clock, o.WaitInterval, o.Shoot.Status.UID = clock.RealClock{}, time.Second, "u"
				a, garden := count(o)
				if c.watched {
					o.WatchedGarden = garden
				}
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
				for what, n := range map[string][3]int32{"reads": {a.reads.Load(), c.reads[0], c.reads[1]},
					"writes": {a.writes.Load(), c.writes[0], c.writes[1]}} {
					if n[0] < n[1] || n[0] > n[2] {
						t.Errorf("%d %s, want at least %d and at most %d", n[0], what, n[1], n[2])
					}
				}
			})
		})
	}
}

// Who writes, and gets no answer, does not hold the watch up.
func TestWatch_WriteHangs_AsksAllTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := begun(t)
		o.Clock, o.WaitInterval = clock.RealClock{}, time.Second
		a, _ := count(o)
		o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, _ client.Client, _ string, _ client.Object, _ client.Patch,
				_ ...client.SubResourcePatchOption) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		reporter := o.Report(ctx, 750*time.Millisecond)
		go o.watch(ctx, cancel)
		reporter.Observe(flow.Progress{Running: []flow.TaskID{"a task"}})
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if reads := a.reads.Load(); reads != 10 {
			t.Errorf("%d reads in ten seconds, want 10", reads)
		}
		cancel(nil)
		reporter.Stop()
	})
}
