package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, gardencorev1beta1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func testShoot(name string, seed *string) *gardencorev1beta1.Shoot {
	return &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec: gardencorev1beta1.ShootSpec{
			SeedName: seed, Region: "here", Provider: gardencorev1beta1.Provider{Type: "transplant"},
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "profile"},
			Kubernetes:   gardencorev1beta1.Kubernetes{Version: "1.36.3"},
		},
	}
}

func testSeed(name string, capacity int64) *gardencorev1beta1.Seed {
	return &gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"},
			Networks: gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"},
		},
		Status: gardencorev1beta1.SeedStatus{
			Conditions:  []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "True"}},
			Allocatable: corev1.ResourceList{"shoots": *resource.NewQuantity(capacity, resource.DecimalSI)},
		},
	}
}

func tainted(seed *gardencorev1beta1.Seed, key string) *gardencorev1beta1.Seed {
	seed.Spec.Taints = []gardencorev1beta1.SeedTaint{{Key: key}}
	return seed
}

func testProfile() *gardencorev1beta1.CloudProfile {
	return &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "profile"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type: "transplant", MachineImages: []gardencorev1beta1.MachineImage{},
			MachineTypes: []gardencorev1beta1.MachineType{}, Regions: []gardencorev1beta1.Region{},
		},
	}
}

var alphaRequest = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "garden-p", Name: "alpha"}}

func TestReconcile(t *testing.T) {
	t.Parallel()
	const full = "Failed to schedule Shoot: no seed fits: a is full: it has 1 shoots and status.allocatable.shoots is 1"
	for _, c := range []struct {
		name    string
		alpha   func(shoot *gardencorev1beta1.Shoot)
		objects []client.Object
		seed    string
		pending string
		event   string
		again   time.Duration
	}{
		{
			name: "bound to the seed with the fewest shoots", seed: "b",
			event:   `Normal SchedulingSuccessful Scheduled to seed "b"; left out: a fits, but seed "b" has fewer shoots`,
			objects: []client.Object{testProfile(), testSeed("a", 9), testSeed("b", 9), testShoot("other", ptr.To("a"))},
		},
		{
			name: "each other seed is left out for its own reason", seed: "b",
			event: `Normal SchedulingSuccessful Scheduled to seed "b"; left out: a has taints that spec.tolerations does ` +
				`not tolerate: "vault"; c is full: it has 0 shoots and status.allocatable.shoots is 0`,
			objects: []client.Object{testProfile(), tainted(testSeed("a", 9), "vault"), testSeed("b", 9), testSeed("c", 0)},
		},
		{
			name: "no seed fits", pending: full, event: "Warning SchedulingFailed " + full, again: time.Minute,
			objects: []client.Object{testProfile(), testSeed("a", 1), testShoot("other", ptr.To("a"))},
		},
		{
			name: "what hangs on a lost seed is left out", seed: "b",
			event: `Normal SchedulingSuccessful Scheduled to seed "b"; left out: a is hosted by "lost", which does not exist`,
			objects: []client.Object{testProfile(), testSeed("a", 9), testSeed("b", 9), testShoot("a", ptr.To("lost")),
				testShoot("other", ptr.To("b")), &seedmanagementv1alpha1.ManagedSeed{
					ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "a"},
					Spec:       seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: "a"}},
				}},
		},
		{
			name: "reported already", pending: full, again: time.Minute,
			alpha: func(shoot *gardencorev1beta1.Shoot) {
				shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Create", State: "Pending", Description: full}
			},
			objects: []client.Object{testProfile(), testSeed("a", 1), testShoot("other", ptr.To("a"))},
		},
		{
			name: "the profile does not exist", again: time.Minute, objects: []client.Object{testSeed("a", 1)},
			pending: `Failed to schedule Shoot: the CloudProfile "profile" does not exist`,
			event:   `Warning SchedulingFailed Failed to schedule Shoot: the CloudProfile "profile" does not exist`,
		},
		{
			name: "no profile is named", objects: []client.Object{testSeed("a", 1)}, seed: "a",
			alpha: func(shoot *gardencorev1beta1.Shoot) { shoot.Spec.CloudProfile = nil },
			event: `Normal SchedulingSuccessful Scheduled to seed "a"`,
		},
		{
			name: "bound already", alpha: func(shoot *gardencorev1beta1.Shoot) { shoot.Spec.SeedName = ptr.To("z") },
			objects: []client.Object{testProfile(), testSeed("a", 1)}, seed: "z",
		},
		{
			name: "in deletion", objects: []client.Object{testProfile(), testSeed("a", 1)},
			alpha: func(shoot *gardencorev1beta1.Shoot) {
				shoot.DeletionTimestamp, shoot.Finalizers = ptr.To(metav1.Unix(1700000000, 0)), []string{"gardener"}
			},
		},
		{
			name: "another scheduler's", alpha: func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.SchedulerName = ptr.To("mine")
			},
			objects: []client.Object{testProfile(), testSeed("a", 1)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			alpha := testShoot("alpha", nil)
			if c.alpha != nil {
				c.alpha(alpha)
			}
			g := fake.NewClientBuilder().WithScheme(scheme(t)).WithStatusSubresource(&gardencorev1beta1.Shoot{}).WithObjects(
				append(c.objects, alpha)...).Build()
			recorder := events.NewFakeRecorder(9)
			r := &Reconciler{Garden: g, Cached: g, Clock: testingclock.NewFakePassiveClock(time.Unix(1700000000, 0)),
				Events: recorder, Retry: time.Minute}
			result, err := r.Reconcile(t.Context(), alphaRequest)
			if err != nil || result.RequeueAfter != c.again {
				t.Errorf("got %+v, %v; want to be asked again after %s", result, err, c.again)
			}
			if err := g.Get(t.Context(), alphaRequest.NamespacedName, alpha); err != nil {
				t.Fatal(err)
			}
			if got := ptr.Deref(alpha.Spec.SeedName, ""); got != c.seed {
				t.Errorf("bound to %q, want %q", got, c.seed)
			}
			wantPending(t, alpha.Status.LastOperation, c.pending)
			close(recorder.Events)
			if got := <-recorder.Events; got != c.event {
				t.Errorf("event %q, want %q", got, c.event)
			}
		})
	}
}

func wantPending(t *testing.T, last *gardencorev1beta1.LastOperation, description string) {
	t.Helper()
	got := ""
	if last != nil {
		got = string(last.Type) + " " + string(last.State) + " " + last.Description
	}
	want := ""
	if description != "" {
		want = "Create Pending " + description
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lastOperation (-want +got):\n%s", diff)
	}
}

// TestBindLosesTheRace shows that a shoot which has changed since it was judged is not bound.
func TestBindLosesTheRace(t *testing.T) {
	t.Parallel()
	alpha := testShoot("alpha", nil)
	raced := false
	g := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(alpha, testProfile(),
		testSeed("a", 1)).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			if !raced {
				raced = true
				other := testShoot("alpha", nil)
				if err := c.Patch(ctx, other, client.RawPatch("application/merge-patch+json",
					[]byte(`{"spec":{"seedName":"z"}}`))); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, patch, options...)
		},
	}).Build()
	r := &Reconciler{Garden: g, Cached: g, Clock: testingclock.NewFakePassiveClock(time.Unix(1700000000, 0)),
		Events: events.NewFakeRecorder(9)}
	if _, err := r.Reconcile(t.Context(), alphaRequest); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if _, err := r.Reconcile(t.Context(), alphaRequest); err != nil {
		t.Error(err)
	}
	if err := g.Get(t.Context(), alphaRequest.NamespacedName, alpha); err != nil || *alpha.Spec.SeedName != "z" {
		t.Errorf("bound to %v (%v), want z", alpha.Spec.SeedName, err)
	}
}

func TestGardenIsAway(t *testing.T) {
	t.Parallel()
	away := errors.New("no route")
	g := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(testShoot("alpha", nil), testProfile(),
		testSeed("a", 1)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away },
	}).Build()
	if _, err := (&Reconciler{Garden: g}).Reconcile(t.Context(), alphaRequest); !errors.Is(err, away) {
		t.Errorf("got %v, want to be tried again: what cannot be seen is no reason to report", err)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	if got := shorten("short"); got != "short" {
		t.Errorf("got %q", got)
	}
	long := shorten(strings.Repeat("ü", 600))
	if len(long) > 1024 || !utf8.ValidString(long) || !strings.HasSuffix(long, "ü …") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
}
