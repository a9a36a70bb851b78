package seed

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// A heartbeat renews the Lease and makes the conditions true; what its operators have stopped is a condition as long as
// they do.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, gardencorev1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a", Generation: 3}}
	seed.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "Unknown"},
		{Type: "BackupBucketsReady", Status: "True"}}
	garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(seed).WithObjects(seed).Build()
	h := &Heartbeat{
		Garden: garden, Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}).Build(),
		Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0)), SeedName: "a", Version: "v1", Interval: time.Second,
		Alive: neverSeen, KubernetesVersion: answersVersion,
	}
	for _, step := range []struct {
		stop string
		want map[string]string
	}{
		{"", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True"}},
		{"true", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True", "EmergencyStopShootReconciliations": "True"}},
		{"", map[string]string{"GardenletReady": "True", "SeedSystemComponentsHealthy": "True",
			"BackupBucketsReady": "True"}},
	} {
		now := &gardencorev1beta1.Seed{}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		now.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": step.stop}
		if err := garden.Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		h.Reported(now)
		if err := h.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, condition := range now.Status.Conditions {
			got[string(condition.Type)] = string(condition.Status)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("stop %q, conditions (-want +got):\n%s", step.stop, diff)
		}
		if now.Status.ObservedGeneration != now.Generation || now.Status.Gardener == nil ||
			now.Status.Gardener.Version != "v1" || *now.Status.KubernetesVersion != "v1.36.3" ||
			now.Status.LastOperation.State != gardencorev1beta1.LastOperationStateSucceeded {
			t.Errorf("status is %+v", now.Status)
		}
	}
	lease := &coordinationv1.Lease{}
	if err := garden.Get(t.Context(), client.ObjectKey{Namespace: "gardener-system-seed-lease", Name: "a"},
		lease); err != nil {
		t.Fatal(err)
	}
	if *lease.Spec.HolderIdentity != "uid-a" || !lease.Spec.RenewTime.Time.Equal(time.Unix(1000, 0)) {
		t.Errorf("the Lease is %+v", lease.Spec)
	}
}

// A beat is one patch. The Seed is read when it may have changed: when a watch says so, after a missed beat, after a
// pause, and at the fifth beat, which needs no watch.
func TestHeartbeat_ReadsTheSeedWhenItMayHaveChanged(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), gardencorev1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}
	garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(seed).WithObjects(seed).Build()
	var asked []string
	away, clock := false, testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	h := &Heartbeat{
		Garden: interceptor.NewClient(garden, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
				options ...client.GetOption) error {
				asked = append(asked, fmt.Sprintf("get %T", o))
				return c.Get(ctx, key, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
				options ...client.PatchOption) error {
				asked = append(asked, fmt.Sprintf("patch %T", o))
				if away {
					return errors.New("the garden is away")
				}
				return c.Patch(ctx, o, p, options...)
			},
		}),
		Seed: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}).Build(),
		Clock: clock, SeedName: "a", Interval: time.Second, Alive: neverSeen,
		KubernetesVersion: answersVersion,
	}
	const patched, read = "patch *v1.Lease", "get *v1beta1.Seed"
	silence := func() { // as the garden-controller-manager does
		now := &gardencorev1beta1.Seed{}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		now.Status.Conditions[0].Status = gardencorev1beta1.ConditionUnknown
		if err := garden.Status().Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		h.Reported(now)
	}
	for i, beat := range []struct {
		before func()
		after  time.Duration
		want   []string
		missed bool
	}{
		{want: []string{read, patched}}, // and creates the Lease
		{want: []string{patched}},
		{want: []string{patched}},
		{before: silence, want: []string{read, patched}},
		{before: func() { away = true }, want: []string{patched}, missed: true},
		{before: func() { away = false }, want: []string{read, patched}},
		{want: []string{patched}},
		{after: 3 * time.Second, want: []string{read, patched}},
		{want: []string{patched}},
		{want: []string{patched}},
		{want: []string{patched}},
		{want: []string{patched}},
		{want: []string{read, patched}},
	} {
		clock.SetTime(clock.Now().Add(max(beat.after, time.Second)))
		if beat.before != nil {
			beat.before()
		}
		asked = nil
		if err := h.beat(t.Context()); (err != nil) != beat.missed {
			t.Errorf("beat %d: %v", i, err)
		}
		if diff := cmp.Diff(beat.want, asked); diff != "" {
			t.Errorf("beat %d asks (-want +got):\n%s", i, diff)
		}
		now := &gardencorev1beta1.Seed{}
		if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, now); err != nil {
			t.Fatal(err)
		}
		if now.Status.Conditions[0].Status != gardencorev1beta1.ConditionTrue {
			t.Errorf("beat %d leaves the condition %s", i, now.Status.Conditions[0].Status)
		}
		h.Reported(now) // by the watch
	}
}

func neverSeen() time.Time { return time.Time{} }

func answersVersion(context.Context) (string, error) { return "v1.36.3", nil }

// A beat asks the seed's API server, unless it has answered something else within the interval.
func TestHeartbeat_ServerSeenToServe_IsNotAsked(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), gardencorev1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}
	now := time.Unix(1000, 0)
	for seen, missed := range map[time.Time]bool{
		now: false, now.Add(-999 * time.Millisecond): false, now.Add(-time.Second): true, {}: true,
	} {
		asked := 0
		h := &Heartbeat{
			Garden: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(seed).WithObjects(seed).Build(),
			Seed: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					asked++
					return errors.New("the seed is away")
				},
			}),
			Clock: testingclock.NewFakePassiveClock(now), SeedName: "a", Interval: time.Second,
			Alive:             func() time.Time { return seen },
			KubernetesVersion: func(context.Context) (string, error) { return "", errors.New("nobody knows") },
		}
		err := h.beat(t.Context())
		if (err != nil) != missed || (asked > 0) != missed {
			t.Errorf("seen at %v: asked %d times, %v; want missed: %t", seen, asked, err, missed)
		}
	}
}
