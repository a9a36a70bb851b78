package run

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
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

// The watch asks when the garden has confirmed nothing for the fallback interval: a write that the garden has accepted
// is as good as a read. Without any it asks by itself, and then ends the run of a shoot that is another's.
func TestWatch_AsksWhenNothingIsConfirmed(t *testing.T) {
	t.Parallel()
	o := begun(t)
	o.WaitInterval = time.Second
	a, garden := count(o)
	clock := o.Clock.(*testingclock.FakeClock)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.watch(ctx, cancel, func() bool { return false })
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
