package run

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// Reporter writes the progress of a flow into the shoot's status, at most once a period. It is a flow.Observer.
type Reporter struct {
	s      *Status
	period time.Duration

	mu      sync.Mutex
	latest  *flow.Progress
	begun   map[flow.TaskID]time.Time // tasks at work
	written time.Time
	wake    chan struct{}
	end     chan struct{}
	done    chan struct{}
}

// Report starts a Reporter that writes in the background until Stop.
func (s *Status) Report(ctx context.Context, period time.Duration) *Reporter {
	r := &Reporter{s: s, period: period, wake: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{})}
	go r.loop(ctx)
	return r
}

// Observe takes note of the progress.
func (r *Reporter) Observe(progress flow.Progress) {
	r.mu.Lock()
	r.latest = &progress
	r.logTasks(progress.Running)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// logTasks logs what has ended since the last observation, with its duration.
func (r *Reporter) logTasks(running []flow.TaskID) {
	now := r.s.Clock.Now()
	begun := map[flow.TaskID]time.Time{}
	for _, task := range running {
		begun[task] = now
		if since, before := r.begun[task]; before {
			begun[task] = since
		}
	}
	for _, task := range slices.Sorted(maps.Keys(r.begun)) {
		if _, still := begun[task]; !still {
			r.s.Log.Info("Task ended", "task", task, "took", now.Sub(r.begun[task]).Round(time.Millisecond).String())
		}
	}
	r.begun = begun
}

// Stop ends the Reporter; afterwards it writes nothing more. It must be called exactly once, after the flow.
func (r *Reporter) Stop() {
	close(r.end)
	<-r.done
}

func (r *Reporter) loop(ctx context.Context) {
	defer close(r.done)
	for r.pause(ctx) {
		progress := r.take()
		if progress == nil {
			continue
		}
		r.written = r.s.Clock.Now()
		if err := r.write(ctx, *progress); err != nil {
			r.s.Log.V(1).Info("Progress could not be reported", "reason", err.Error())
		}
	}
}

// pause waits for progress, and for the rest of the period; false means the end, which waits for neither.
func (r *Reporter) pause(ctx context.Context) bool {
	select {
	case <-r.wake:
	case <-r.end:
		return false
	}
	wait := r.period - r.s.Clock.Since(r.written)
	if wait <= 0 {
		return true
	}
	timer := r.s.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-r.end:
		return false
	case <-ctx.Done():
		return false
	}
}

// take is the latest progress that is to be written; nil for none.
func (r *Reporter) take() *flow.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	progress := r.latest
	r.latest = nil
	if progress == nil || len(progress.Running) == 0 { // the end of the last task is for the flow to report
		return nil
	}
	return progress
}

func (r *Reporter) write(ctx context.Context, progress flow.Progress) error {
	names := make([]string, 0, len(progress.Running))
	for _, task := range progress.Running {
		names = append(names, string(task))
	}
	// A patch of its own: the flow reads s.Shoot at the same time, and a shoot that was taken over meanwhile has another's
	// progress.
	return r.s.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) {
		last := status.LastOperation
		last.Progress, last.Description, last.LastUpdateTime = progress.Percent, strings.Join(names, ", "),
			metav1.NewTime(r.s.Clock.Now())
		// What an earlier run could not do, and this one has done, is no error any more
		// (docs/specification/migration.md#spec-2-12).
		status.LastErrors = slices.DeleteFunc(status.LastErrors, func(e gardencorev1beta1.LastError) bool {
			return slices.Contains(progress.Succeeded, flow.TaskID(ptr.Deref(e.TaskID, "")))
		})
	})
}
