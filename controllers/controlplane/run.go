package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Events records what happens to a shoot where its users see it.
type Events interface {
	Event(shoot *gardencorev1beta1.Shoot, eventType, reason, message string)
}

// Periods are those of every flow of a gardenlet.
type Periods struct {
	// Sync is how often a shoot that nobody changed is reconciled all the same.
	Sync time.Duration
	// Retry is how long a failing flow is tried again before the operation counts as Failed.
	Retry time.Duration
	// Progress is how often progress is reported at most.
	Progress time.Duration
}

// Flow is what a run does between the first and the last patch of the shoot's status, and what the shoot's users
// read of it.
type Flow struct {
	Type gardencorev1beta1.LastOperationType
	// Initialized and Succeeded are the first and the last lastOperation.description
	// (docs/specification/migration.md#spec-2-12).
	Initialized, Succeeded string
	// ReasonStarted, ReasonEnded and ReasonError are reasons of events.
	ReasonStarted, ReasonEnded, ReasonError string
	// Work does everything. It hands the reporter to the graph it runs.
	Work func(context.Context, *Reporter) error
	// Finish changes the status in the last patch; may be nil.
	Finish func(*gardencorev1beta1.ShootStatus)
	// Consumes are annotations that were meant for this run only, removed when it has succeeded.
	Consumes []string
	// Gone is true if the shoot ceases to exist with the end of the flow: there is no status left to patch.
	Gone bool
}

// Runner runs flows.
type Runner struct {
	Version string
	Periods Periods
	Events  Events
	// Metrics may be nil.
	Metrics *Metrics
}

// Run runs one flow between its first and last status patch. A failed flow is tried again with back-off, unless its
// error is one that no retry mends.
func (r *Runner) Run(ctx context.Context, o *Operation, flow Flow) (reconcile.Result, error) {
	if err := o.EnsureIdentity(ctx); err != nil {
		return reconcile.Result{}, err
	}
	carriesOut := flow.Type == gardencorev1beta1.LastOperationTypeReconcile &&
		o.Shoot.Status.ObservedGeneration != o.Shoot.Generation
	if err := o.Begin(ctx, flow.Type, flow.Initialized, r.Version); err != nil {
		return reconcile.Result{}, err
	}
	o.events = r.Events
	if err := o.noteRollout(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if err := o.noteRotation(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if err := o.takeRequest(ctx, carriesOut); err != nil {
		return reconcile.Result{}, err
	}
	r.Events.Event(o.Shoot, corev1.EventTypeNormal, flow.ReasonStarted, flow.Initialized)
	begin := o.Clock.Now()
	err := r.work(ctx, o, flow)
	r.Metrics.ran(flow.Type, resultOf(err), o.Clock.Since(begin))
	if errors.Is(err, ErrTakenOver) {
		o.Log.Info("The run ends: the shoot is another's", "operation", flow.Type, "reason", err.Error())
		return reconcile.Result{}, nil
	}
	if err != nil {
		r.Events.Event(o.Shoot, corev1.EventTypeWarning, flow.ReasonError, err.Error())
		if failed := o.Fail(ctx, err, r.Periods.Retry); failed != nil {
			return reconcile.Result{}, failed
		}
		if o.Shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("%s shoot: %w", flow.Type, err)
	}
	r.Events.Event(o.Shoot, corev1.EventTypeNormal, flow.ReasonEnded, flow.Succeeded)
	if flow.Gone {
		return reconcile.Result{}, nil
	}
	if err := o.consume(ctx, flow.Consumes); err != nil {
		return reconcile.Result{}, err
	}
	if err := o.Succeed(ctx, flow.Succeeded, flow.Finish); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.Periods.Sync}, nil
}

// work does the work under a watch: it ends when the shoot is no longer this run's. What a gardenlet does after it
// stood still must not reach the garden, where it may be another's by now.
func (r *Runner) work(ctx context.Context, o *Operation, flow Flow) error {
	reporter := o.Report(ctx, r.Periods.Progress)
	defer reporter.Stop()
	watched, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.watch(watched, cancel)
	}()
	defer func() {
		cancel(nil)
		<-ended
	}()
	err := flow.Work(watched, reporter)
	if err == nil && flow.Gone {
		return nil // the watch may have seen that the shoot is gone, as it should be, before the work heard of it
	}
	if cause := context.Cause(watched); errors.Is(cause, ErrTakenOver) {
		return cause
	}
	return err
}

// watch cancels the run as soon as it sees the shoot in other hands. A garden that does not answer stops nothing.
func (o *Operation) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		timer := o.Clock.NewTimer(o.WaitInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		shoot := &gardencorev1beta1.Shoot{}
		err := o.Garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot)
		if apierrors.IsNotFound(err) {
			cancel(fmt.Errorf("%w: it is gone", ErrTakenOver))
			return
		}
		if err != nil {
			continue
		}
		if err := o.mine(shoot); err != nil {
			cancel(err)
			return
		}
	}
}

// consume takes annotations off the shoot, if it is still in the hands of this run. Of its tasks it takes those off
// that end with the run: others were added later, and are for the next run.
func (o *Operation) consume(ctx context.Context, annotations []string) error {
	key := client.ObjectKeyFromObject(o.Shoot)
	err := retry.RetryOnConflict(ConflictBackoff, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := o.Garden.Get(ctx, key, shoot); err != nil {
			return err
		}
		if err := o.mine(shoot); err != nil {
			return err
		}
		before := shoot.DeepCopy()
		for _, name := range annotations {
			if name == constants.ShootTasks {
				removeTasks(shoot, o.endingTasks())
				continue
			}
			delete(shoot.Annotations, name)
		}
		if maps.Equal(shoot.Annotations, before.Annotations) {
			return nil
		}
		return o.Garden.Patch(ctx, shoot, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("take %v off shoot %q: %w", annotations, key, err)
	}
	return nil
}

// BackOff is how long a run waits after one that has failed, so that the failure it wrote into the status is not what
// wakes it. Who asks for a run does not wait.
func BackOff(o *Operation) time.Duration {
	last := o.Shoot.Status.LastOperation
	if Requested(o.Shoot) || last == nil || last.State != gardencorev1beta1.LastOperationStateError ||
		o.Shoot.Status.ObservedGeneration != o.Shoot.Generation {
		return 0
	}
	return max(0, last.LastUpdateTime.Add(o.WaitInterval).Sub(o.Clock.Now()))
}
