package run

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// asked counts the requests of a run to the garden.
type asked struct{ reads, writes atomic.Int32 }

// count lets the run's requests be counted, and returns the garden for those that are not the run's.
func count(o *Status) (*asked, client.Client) {
	garden, a := o.Garden, &asked{}
	o.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			a.reads.Add(1)
			return c.Get(ctx, key, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, resource string, object client.Object,
			patch client.Patch, options ...client.SubResourcePatchOption) error {
			a.writes.Add(1)
			return c.SubResource(resource).Patch(ctx, object, patch, options...)
		},
	})
	return a, garden
}

func hibernates(yes bool) func(*gardencorev1beta1.ShootStatus) {
	return func(s *gardencorev1beta1.ShootStatus) { s.IsHibernated = yes }
}

// The answer to a write is what the next one begins with. Only a write of somebody else makes the run read again.
func TestPatch_NobodyElseWrites_ReadsNothing(t *testing.T) {
	t.Parallel()
	o := begun(t)
	a, garden := count(o)
	expect := func(when string, reads, writes int32) {
		t.Helper()
		if a.reads.Load() != reads || a.writes.Load() != writes {
			t.Errorf("%s: %d reads and %d writes, want %d and %d", when, a.reads.Load(), a.writes.Load(), reads, writes)
		}
	}
	for _, asleep := range []bool{true, false, true} {
		if err := o.Patch(t.Context(), hibernates(asleep)); err != nil {
			t.Fatal(err)
		}
	}
	expect("alone", 0, 3)

	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Status.Conditions = []gardencorev1beta1.Condition{{Type: "of care", Status: "True"}}
	if err := garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	if err := o.Succeed(t.Context(), "done", hibernates(false)); err != nil {
		t.Fatal(err)
	}
	expect("after a write of somebody else", 1, 5)
	if got := inGarden(t, o).Status; got.IsHibernated || len(got.Conditions) != 1 || got.LastOperation.Progress != 100 {
		t.Errorf("the status is %+v", got)
	}
}

// What the garden has said last need not be written again.
func TestPatch_NothingChanges_AsksNobody(t *testing.T) {
	t.Parallel()
	o := begun(t)
	a, _ := count(o)
	for range 3 {
		if err := o.Patch(t.Context(), hibernates(true)); err != nil {
			t.Fatal(err)
		}
	}
	asleep := inGarden(t, o).Status.IsHibernated
	if reads, writes := a.reads.Load(), a.writes.Load(); reads > 2 || writes != 1 || !asleep {
		t.Errorf("%d reads and %d writes, want one write; hibernated: %t", reads, writes, asleep)
	}
}

// A shoot that the watch shows in other hands is asked for after the fallback interval, others after five of them.
func TestWatch_ShootTakenOver_IsSeenWithAndWithoutItsWatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frozen bool
		after  time.Duration
	}{"the watch shows it": {after: time.Second}, "the watch stands still": {frozen: true, after: 5 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := begun(t)
				o.Clock, o.WaitInterval = clock.RealClock{}, time.Second
				shoot := inGarden(t, o)
				o.WatchedGarden = o.Garden
				if c.frozen {
					o.WatchedGarden = fake.NewClientBuilder().WithScheme(o.Garden.Scheme()).WithObjects(shoot.DeepCopy()).Build()
				}
				shoot.Status.Gardener.ID = "b"
				if err := o.Garden.Status().Update(t.Context(), shoot); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				o.Confirmed.OnLoss(cancel)
				begin := time.Now()
				o.watch(ctx, cancel)
				if took := time.Since(begin); took != c.after || !errors.Is(context.Cause(ctx), ErrTakenOver) {
					t.Errorf("ends after %v, want %v, with %v", took, c.after, context.Cause(ctx))
				}
			})
		})
	}
}

// The watch asks when the garden has confirmed nothing for the fallback interval: a write that the garden has accepted
// is as good as a read. Without any it asks by itself, and then ends the run of a shoot that is another's.
func TestWatch_AsksWhenNothingIsConfirmed(t *testing.T) {
	t.Parallel()
	o := begun(t)
	o.WaitInterval = time.Second
	a, garden := count(o)
	clock := o.Clock.(*testingclock.FakeClock)
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Confirmed.OnLoss(cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.watch(ctx, cancel)
	}()
	step := func(reads int32) {
		t.Helper()
		waits := func(context.Context) (bool, error) { return clock.HasWaiters() || ctx.Err() != nil, nil }
		if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, waits); err != nil {
			t.Fatal("the watch does not wait")
		}
		if got := a.reads.Load(); got != reads {
			t.Errorf("after %v: %d reads, want %d", clock.Since(time.Unix(1000, 0)), got, reads)
		}
		clock.Step(500 * time.Millisecond)
	}
	step(0)
	if err := o.Patch(t.Context(), hibernates(true)); err != nil { // at half a second
		t.Fatal(err)
	}
	step(0)
	step(0) // a whole second has passed, half of it since the write
	step(1)
	step(1)
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Status.Gardener.ID = "b"
	if err := garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	awaitWatch(o, ctx)
	<-ended
	if !errors.Is(context.Cause(ctx), ErrTakenOver) {
		t.Errorf("the run ends with %v", context.Cause(ctx))
	}
}

// Whoever finds the shoot in other hands ends the run: the watch need not find that again.
func TestPatch_ShootTakenOver_EndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	o := begun(t)
	o.WaitInterval, o.Shoot.Status.UID = time.Hour, "u"
	_, garden := count(o)
	runner := &Runner{Version: "v1", Events: quiet{}, Periods: Periods{Retry: time.Hour, Progress: time.Hour}}
	var ended error
	err := runner.Run(t.Context(), o.Scope, Flow{Type: "Reconcile", Work: func(ctx context.Context, r *Reporter) error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := garden.Get(ctx, client.ObjectKeyFromObject(o.Shoot), shoot); err != nil {
			return err
		}
		shoot.Status.Gardener.ID = "b"
		if err := garden.Status().Update(ctx, shoot); err != nil {
			return err
		}
		r.Observe(flow.Progress{Running: []flow.TaskID{"a task"}})
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
		ended = context.Cause(ctx)
		return nil
	}})
	if err != nil || !errors.Is(ended, ErrTakenOver) {
		t.Errorf("the work ends with %v, the run with %v", ended, err)
	}
}

// What was confirmed before a read failed is no beginning of a write: the next one reads.
func TestReadOwned_Fails_ForgetsTheShoot(t *testing.T) {
	t.Parallel()
	o := begun(t)
	if err := o.StillMine(t.Context()); err != nil || o.Confirmed.Shoot() == nil {
		t.Fatalf("not confirmed: %v", err)
	}
	o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	if err := o.StillMine(t.Context()); err == nil || o.Confirmed.Shoot() != nil {
		t.Errorf("still confirmed after %v", err)
	}
}
