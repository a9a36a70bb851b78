package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Shoots that wait are judged by the cache. In each retry period one of them is judged by the garden: a seed that no
// watch shows has room for it.
func TestShootsWait_OneIsReadInEachRetry(t *testing.T) {
	t.Parallel()
	build := func(capacity int64) *fake.ClientBuilder {
		objects := []client.Object{testProfile(), testSeed("a", capacity)}
		for i := range 10 {
			objects = append(objects, testShoot(fmt.Sprintf("s%d", i), nil))
		}
		return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).
			WithStatusSubresource(&gardencorev1beta1.Shoot{})
	}
	reads := 0
	garden := build(0).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			reads++
			return c.List(ctx, list, opts...)
		},
	}).Build()
	clock := testingclock.NewFakePassiveClock(time.Unix(1700000000, 0))
	work := func(cached client.Reader, r *Reconciler, retries int) {
		first := r.cacheFirst(cached)
		for range retries {
			for i := range 10 {
				request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "garden-p", Name: fmt.Sprintf("s%d", i)}}
				if _, err := first.Reconcile(t.Context(), request); err != nil {
					t.Fatal(err)
				}
			}
			clock.SetTime(clock.Now().Add(time.Second))
		}
	}
	r := &Reconciler{Garden: garden, Clock: clock, Events: events.NewFakeRecorder(100), Retry: time.Second}
	work(garden, r, 1) // all of them say why they wait
	shown := build(0).Build()
	for i := range 10 {
		shoot := testShoot(fmt.Sprintf("s%d", i), nil)
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
			t.Fatal(err)
		}
		why := shoot.Status.LastOperation
		if err := shown.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
			t.Fatal(err)
		}
		shoot.Status.LastOperation = why
		if err := shown.Status().Update(t.Context(), shoot); err != nil {
			t.Fatal(err)
		}
	}
	reads = 0
	work(shown, r, 21)
	if reads != 20*4 {
		t.Errorf("%d requests in 20 retries of 10 shoots, want 4 in each", reads)
	}
	if err := garden.Delete(t.Context(), testSeed("a", 0)); err != nil {
		t.Fatal(err)
	}
	if err := garden.Create(t.Context(), testSeed("a", 1)); err != nil {
		t.Fatal(err)
	}
	work(shown, r, 3)
	shoots, bound := &gardencorev1beta1.ShootList{}, 0
	if err := garden.List(t.Context(), shoots); err != nil {
		t.Fatal(err)
	}
	for _, shoot := range shoots.Items {
		if shoot.Spec.SeedName != nil {
			bound++
		}
	}
	if bound != 1 {
		t.Errorf("%d shoots are bound to the seed that has room for one, which no watch shows", bound)
	}
}
