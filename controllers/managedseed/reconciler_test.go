package managedseed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
)

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		gardencorev1beta1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// config describes a Seed in a region.
func config(region string) *seedmanagementv1alpha1.Gardenlet {
	return &seedmanagementv1alpha1.Gardenlet{Config: &runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"apiVersion":"gardenlet.config.gardener.cloud/v1alpha1","kind":"GardenletConfiguration",`+
			`"seedConfig":{"metadata":{"labels":{"site":"x"}},"spec":{"provider":{"type":"transplant","region":%q},`+
			`"networks":{"pods":"10.1.0.0/16","services":"10.2.0.0/16"},"dns":{},"fieldOfTheFuture":{"on":true}}}}`,
		region)}}
}

func managedSeed(gardenlet *seedmanagementv1alpha1.Gardenlet) *seedmanagementv1alpha1.ManagedSeed {
	return &seedmanagementv1alpha1.ManagedSeed{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "m", Generation: 3, Finalizers: []string{"gardener"}},
		Spec: seedmanagementv1alpha1.ManagedSeedSpec{
			Shoot: seedmanagementv1alpha1.Shoot{Name: "s"}, Gardenlet: gardenlet,
		},
	}
}

func inDeletion(m *seedmanagementv1alpha1.ManagedSeed) *seedmanagementv1alpha1.ManagedSeed {
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return m
}

func shoot(operation gardencorev1beta1.LastOperationType,
	state gardencorev1beta1.LastOperationState) *gardencorev1beta1.Shoot {
	s := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "s"}}
	if operation != "" {
		s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: operation, State: state}
	}
	return s
}

func on(seed, status *string) *gardencorev1beta1.Shoot {
	guest := shoot("", "")
	guest.Name, guest.Spec.SeedName, guest.Status.SeedName = "guest", seed, status
	return guest
}

func seed(region string) *gardencorev1beta1.Seed {
	s := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "uid"}}
	s.Spec.Provider.Region = region
	return s
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	leaving := seed("here")
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"gardener"}
	const unready = "False ShootNotReady The Seed is created when the last operation of Shoot \"s\" has succeeded; it is: "
	const inUse = `False SeedInUse The Seed has 1 shoots; move or delete them: garden-p/guest.`
	for _, c := range []struct {
		name    string
		managed *seedmanagementv1alpha1.ManagedSeed
		others  []client.Object
		// condition is status, reason and message; gone if the ManagedSeed is.
		condition string
		region    string // of the Seed; empty if there is none
		again     bool
	}{
		{
			name: "no shoot", managed: managedSeed(config("here")),
			condition: `False ShootMissing There is no Shoot "s" in the namespace of the ManagedSeed.`,
		},
		{
			name: "a shoot that has not begun", managed: managedSeed(config("here")), others: []client.Object{shoot("", "")},
			condition: unready + "none.",
		},
		{
			name: "a shoot that is created", managed: managedSeed(config("here")),
			others: []client.Object{shoot("Create", "Processing")}, condition: unready + "Create Processing.",
		},
		{
			name: "a shoot that moves", managed: managedSeed(config("here")),
			others: []client.Object{shoot("Migrate", "Succeeded")}, condition: unready + "Migrate Succeeded.",
		},
		{
			name: "registered", managed: managedSeed(config("here")), others: []client.Object{shoot("Create", "Succeeded")},
			condition: "True SeedRegistered The Seed is as spec.gardenlet.config says.", region: "here",
		},
		{
			name: "registered, and the shoot moves", managed: managedSeed(config("here")),
			others:    []client.Object{shoot("Migrate", "Processing"), seed("here")},
			condition: "True SeedRegistered The Seed is as spec.gardenlet.config says.", region: "here",
		},
		{
			name: "somebody else has made the Seed otherwise", managed: managedSeed(config("there")),
			others: []client.Object{shoot("Create", "Succeeded"), seed("here")},
			condition: `False SeedRefused Apply failed with 1 conflict: conflict with "before-first-apply" using ` +
				`core.gardener.cloud/v1beta1: .spec.provider.region`, region: "here", again: true,
		},
		{
			name: "unreadable", managed: managedSeed(&seedmanagementv1alpha1.Gardenlet{}),
			others:    []client.Object{shoot("Create", "Succeeded")},
			condition: "False SeedRefused spec.gardenlet.config.seedConfig: Required value: must describe the Seed",
		},
		{
			name: "an operator registers", managed: managedSeed(nil), others: []client.Object{shoot("Create", "Succeeded")},
			condition: "False SeedMissing spec.gardenlet is not set, so an operator has to create the Seed, and has not done " +
				"so.",
		},
		{
			name: "an operator has registered", managed: managedSeed(nil), others: []client.Object{shoot("", ""), seed("here")},
			condition: "True SeedRegistered An operator has created the Seed.", region: "here",
		},
		{
			name: "deleted while the Seed is to have a shoot", managed: inDeletion(managedSeed(config("here"))),
			others: []client.Object{seed("here"), on(ptr.To("m"), nil)}, condition: inUse, region: "here", again: true,
		},
		{
			name: "deleted while a shoot leaves the Seed", managed: inDeletion(managedSeed(config("here"))),
			others:    []client.Object{seed("here"), on(ptr.To("b"), ptr.To("m"))},
			condition: inUse, region: "here", again: true,
		},
		{
			name: "deleted", managed: inDeletion(managedSeed(config("here"))),
			others:    []client.Object{seed("here"), on(ptr.To("b"), ptr.To("b"))},
			condition: "False SeedInDeletion The Seed is being deleted.",
		},
		{
			name: "deleted while the Seed is being deleted", managed: inDeletion(managedSeed(config("here"))),
			others: []client.Object{leaving}, condition: "False SeedInDeletion The Seed is being deleted.", region: "here",
		},
		{name: "deleted without a Seed", managed: inDeletion(managedSeed(config("here"))), condition: "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			garden := fake.NewClientBuilder().WithScheme(testScheme(t)).WithStatusSubresource(c.managed).
				WithObjects(c.managed).WithObjects(c.others...).Build()
			r := &Reconciler{Garden: garden, Clock: testingclock.NewFakePassiveClock(time.Unix(100, 0)), Retry: time.Second}
			key := client.ObjectKeyFromObject(c.managed)
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if err != nil || result.RequeueAfter > 0 != c.again {
				t.Errorf("got %+v, %v", result, err)
			}
			got := "gone"
			managed := &seedmanagementv1alpha1.ManagedSeed{}
			if err := garden.Get(t.Context(), key, managed); err == nil && len(managed.Status.Conditions) == 1 {
				condition := managed.Status.Conditions[0]
				got = fmt.Sprintf("%s %s %s", condition.Status, condition.Reason, condition.Message)
				if condition.Type != "SeedRegistered" || managed.Status.ObservedGeneration != 3 {
					t.Errorf("status %+v", managed.Status)
				}
			}
			if got != c.condition {
				t.Errorf("condition %q, want %q", got, c.condition)
			}
			found := &gardencorev1beta1.Seed{}
			if err := garden.Get(t.Context(), client.ObjectKey{Name: "m"}, found); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if found.Spec.Provider.Region != c.region {
				t.Errorf("the Seed is in region %q, want %q", found.Spec.Provider.Region, c.region)
			}
		})
	}
}

// The finalizer is there before the Seed is; the times of the condition say since when.
func TestReconcile_NewManagedSeed_HasFinalizerBeforeSeed(t *testing.T) {
	t.Parallel()
	managed := managedSeed(config("here"))
	managed.Finalizers = nil
	away := errors.New("the garden is away")
	garden := fake.NewClientBuilder().WithScheme(testScheme(t)).WithStatusSubresource(managed).
		WithObjects(managed, shoot("Create", "Succeeded")).Build()
	fails := true
	clock := testingclock.NewFakePassiveClock(time.Unix(100, 0))
	r := &Reconciler{Clock: clock, Retry: time.Second, Garden: interceptor.NewClient(garden, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if fails {
				return away
			}
			return c.Apply(ctx, o, opts...)
		},
	})}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(managed)}
	if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, away) || !strings.Contains(err.Error(), `Seed "m"`) {
		t.Errorf("got %v", err)
	}
	get := func() *seedmanagementv1alpha1.ManagedSeed {
		got := &seedmanagementv1alpha1.ManagedSeed{}
		if err := garden.Get(t.Context(), request.NamespacedName, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := get(); len(got.Finalizers) != 1 || len(got.Status.Conditions) != 0 {
		t.Errorf("finalizers %v, conditions %v", got.Finalizers, got.Status.Conditions)
	}
	fails = false
	for _, second := range []int64{100, 200} {
		clock.SetTime(time.Unix(second, 0))
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		condition := get().Status.Conditions[0]
		if condition.LastTransitionTime.Unix() != 100 || condition.LastUpdateTime.Unix() != 100 {
			t.Errorf("at %d the condition is %+v", second, condition)
		}
	}
}
