// Package run is one run of a flow for a shoot: how it begins, reports, succeeds and fails in the shoot's status, and
// how it finds out that the shoot is another's. What a flow does is not known here.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// Periods are those of every flow of a gardenlet.
type Periods struct {
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
	Events  scope.Events
	// Metrics and AtWork may be nil.
	Metrics *Metrics
	AtWork  *AtWork
}

// Run runs one flow between its first and last status patch. A failed flow is tried again with back-off, unless its
// error is one that no retry mends. The last patch wakes whoever decides when the next is due.
func (r *Runner) Run(ctx context.Context, of *scope.Scope, flow Flow) error {
	s := &Status{Scope: of}
	if err := s.EnsureIdentity(ctx); err != nil {
		return err
	}
	carriesOut := flow.Type == gardencorev1beta1.LastOperationTypeReconcile &&
		s.Shoot.Status.ObservedGeneration != s.Shoot.Generation
	if err := s.Begin(ctx, flow.Type, flow.Initialized, r.Version); err != nil {
		return err
	}
	s.Events = r.Events
	if err := s.noteRollout(ctx); err != nil {
		return err
	}
	if err := s.noteRotation(ctx); err != nil {
		return err
	}
	if err := s.takeRequest(ctx, carriesOut); err != nil {
		return err
	}
	r.Events.Event(s.Shoot, corev1.EventTypeNormal, flow.ReasonStarted, flow.Initialized)
	begin := s.Clock.Now()
	err := r.work(ctx, s, flow)
	r.Metrics.ran(flow.Type, resultOf(err), s.Clock.Since(begin))
	if errors.Is(err, ErrTakenOver) {
		s.Log.Info("The run ends: the shoot is another's", "operation", flow.Type, "reason", err.Error())
		return nil
	}
	if err != nil {
		r.Events.Event(s.Shoot, corev1.EventTypeWarning, flow.ReasonError, err.Error())
		if failed := s.Fail(ctx, err, r.Periods.Retry); failed != nil {
			return failed
		}
		if s.Shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed {
			return nil
		}
		return fmt.Errorf("%s shoot: %w", flow.Type, err)
	}
	r.Events.Event(s.Shoot, corev1.EventTypeNormal, flow.ReasonEnded, flow.Succeeded)
	if flow.Gone {
		return nil
	}
	if err := s.consume(ctx, flow.Consumes); err != nil {
		return err
	}
	return s.Succeed(ctx, flow.Succeeded, flow.Finish)
}

// work does the work under a watch: it ends when the shoot is no longer this run's. What a gardenlet does after it
// stood still must not reach the garden, where it may be another's by now.
func (r *Runner) work(ctx context.Context, s *Status, flow Flow) error {
	defer r.AtWork.Begin(client.ObjectKeyFromObject(s.Shoot), flow.Type)()
	reporter := s.Report(ctx, r.Periods.Progress)
	defer reporter.Stop()
	watched, cancel := context.WithCancelCause(ctx)
	s.Confirmed.OnLoss(cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(watched, cancel)
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

// How a flow ends.
const (
	flowSucceeded = "succeeded"
	flowFailed    = "failed"     // and is tried again, unless nothing mends it
	flowTakenOver = "taken over" // the shoot is another's by now
)

// flowBuckets are from a tenth of a second to half an hour.
var flowBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800}

// Metrics of flows: migrations and restores among them. A nil Metrics counts nothing. Labels are closed sets; no shoot
// is one.
type Metrics struct{ flows *prometheus.HistogramVec }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{flows: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "shoot_flow_duration_seconds", Help: "How long runs of flows took, by operation and how they ended.",
		Buckets: flowBuckets,
	}, []string{"operation", "result"})}
	if err := registry.Register(m.flows); err != nil {
		return nil, err
	}
	return m, nil
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return flowSucceeded
	case errors.Is(err, ErrTakenOver):
		return flowTakenOver
	}
	return flowFailed
}

func (m *Metrics) ran(operation gardencorev1beta1.LastOperationType, result string, took time.Duration) {
	if m != nil {
		m.flows.WithLabelValues(string(operation), result).Observe(took.Seconds())
	}
}
