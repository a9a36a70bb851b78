package seed

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// hearsay is a garden with seeds, and what its watches show of it. The Lifecycle looks once a second.
type hearsay struct {
	*Lifecycle
	clock        *testingclock.FakeClock
	garden, seen client.Client
	requests     map[string]int
	away         bool
	began        time.Time
	// late is how long a watch takes to show a renewal; negative if it shows none.
	late time.Duration
}

func newHearsay(t *testing.T, seeds ...string) *hearsay {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(gardencorev1beta1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	build := func() *fake.ClientBuilder {
		return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&gardencorev1beta1.Seed{})
	}
	h := &hearsay{clock: testingclock.NewFakeClock(time.Unix(1000, 0)), requests: map[string]int{}, seen: build().Build()}
	h.began = h.clock.Now()
	h.garden = build().WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			h.requests["list"]++
			if h.away {
				return errors.New("the garden is away")
			}
			return c.List(ctx, list, o...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			o ...client.GetOption) error {
			h.requests["get"]++
			return c.Get(ctx, key, object, o...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, p client.Patch,
			o ...client.SubResourcePatchOption) error {
			h.requests["patch"]++
			return c.SubResource(sub).Patch(ctx, object, p, o...)
		},
	}).Build()
	for _, name := range seeds {
		for _, c := range []client.Client{h.garden, h.seen} {
			seed, lease := newSeed(name, "uid-"+name, h.began)
			if err := errors.Join(c.Create(t.Context(), seed), c.Create(t.Context(), lease)); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.Lifecycle = &Lifecycle{
		Garden: h.garden, Cached: h.seen, Clock: h.clock, Monitor: 4 * time.Second, Interval: time.Second,
	}
	return h
}

func newSeed(name, uid string, renewed time.Time) (*gardencorev1beta1.Seed, *coordinationv1.Lease) {
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	seed.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "True"}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "gardener-system-seed-lease", Name: name},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &uid, RenewTime: ptr.To(metav1.NewMicroTime(renewed))}}
	return seed, lease
}

func write(t *testing.T, c client.Client, name string, at time.Time) {
	t.Helper()
	renewal := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"renewTime":"`+
		at.UTC().Format(metav1.RFC3339Micro)+`"}}`))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "gardener-system-seed-lease", Name: name}}
	if err := c.Patch(t.Context(), lease, renewal); err != nil {
		t.Fatal(err)
	}
}

// goOn lets some seeds renew their Leases once a second, and looks.
func (h *hearsay) goOn(t *testing.T, seconds int, seeds ...string) {
	t.Helper()
	for range seconds {
		h.clock.Step(time.Second)
		for _, name := range seeds {
			write(t, h.garden, name, h.clock.Now())
			if shown := h.clock.Now().Add(-h.late); h.late >= 0 && shown.After(h.began) {
				write(t, h.seen, name, shown)
			}
		}
		if err := h.look(t.Context()); err != nil && !h.away {
			t.Fatal(err)
		}
	}
}

// unknown are the seeds whose conditions are Unknown in the garden.
func (h *hearsay) unknown(t *testing.T) []string {
	t.Helper()
	seeds, names := &gardencorev1beta1.SeedList{}, []string(nil)
	away := h.away
	h.away = false
	if err := h.garden.List(t.Context(), seeds); err != nil {
		t.Fatal(err)
	}
	h.away = away
	h.requests["list"]--
	for _, seed := range seeds.Items {
		if seed.Status.Conditions[0].Status == "Unknown" {
			names = append(names, seed.Name)
		}
	}
	return names
}

// show lets a watch show the conditions as they are in the garden.
func (h *hearsay) show(t *testing.T, name string) {
	t.Helper()
	status := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"GardenletReady","status":"Unknown"}]}}`))
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := h.seen.Status().Patch(t.Context(), seed, status); err != nil {
		t.Fatal(err)
	}
}

func TestLifecycle_SeedsRenewTheirLeases_GardenIsHardlyAsked(t *testing.T) {
	t.Parallel()
	for _, seeds := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d", "e"}} {
		h := newHearsay(t, seeds...)
		h.goOn(t, 40, seeds...)
		if diff := cmp.Diff(map[string]int{"list": 2 * 2, "patch": 0, "get": 0}, map[string]int{
			"list": h.requests["list"], "patch": h.requests["patch"], "get": h.requests["get"],
		}); diff != "" {
			t.Errorf("%d seeds, requests in ten monitor periods (-want +got):\n%s", len(seeds), diff)
		}
	}
}

// However watches are: who renews is well, and who does not is Unknown, as soon as by live reads alone where the watch
// is in time or shows nothing.
func TestLifecycle_SeedFallsSilent_IsUnknownInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late   time.Duration
		seeds  []string
		within int // seconds after the last renewal
	}{
		"watch in time":           {0, []string{"a", "b"}, 5},
		"the only seed":           {0, []string{"a"}, 5},
		"watch shows nothing":     {-1, []string{"a", "b"}, 5},
		"watch late by a second":  {time.Second, []string{"a", "b"}, 6},
		"watch late by a monitor": {4 * time.Second, []string{"a", "b"}, 5},
		"watch late by a minute":  {time.Minute, []string{"a", "b"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHearsay(t, c.seeds...)
			h.late = c.late
			h.goOn(t, 90, c.seeds...)
			if unknown := h.unknown(t); unknown != nil {
				t.Fatalf("all seeds renew their leases, Unknown are %v", unknown)
			}
			last := h.clock.Now()
			for second := 1; h.unknown(t) == nil; second++ {
				if second > c.within {
					t.Fatalf("not Unknown %d seconds after the last renewal", c.within)
				}
				h.clock.Step(time.Second)
				for _, name := range c.seeds[1:] {
					write(t, h.garden, name, h.clock.Now())
				}
				for _, name := range c.seeds { // the watch goes on with what was before
					if shown := h.clock.Now().Add(-h.late); h.late >= 0 && (name != "a" || !shown.After(last)) {
						write(t, h.seen, name, shown)
					}
				}
				if err := h.look(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if silent := h.clock.Since(last); silent <= 4*time.Second {
				t.Errorf("Unknown after %v", silent)
			}
			if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A seed that falls silent costs a read when half the monitor period is over, and one when all of it is.
func TestLifecycle_SeedFallsSilent_GardenIsAskedTwice(t *testing.T) {
	t.Parallel()
	h := newHearsay(t, "a", "b")
	h.goOn(t, 5, "a", "b")
	clear(h.requests)
	h.goOn(t, 5, "b")
	if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(map[string]int{"list": 2 * 2, "patch": 1}, h.requests); diff != "" {
		t.Errorf("requests until it is Unknown (-want +got):\n%s", diff)
	}
}

// A garden that was away has not let anybody renew: its first word says nothing about seeds.
func TestLifecycle_GardenWasAway_SeedsGetTheMonitorPeriodAnew(t *testing.T) {
	t.Parallel()
	h := newHearsay(t, "a", "b")
	h.goOn(t, 10, "a", "b")
	h.away = true
	h.goOn(t, 3600)
	h.away = false
	h.goOn(t, 4)
	if unknown := h.unknown(t); unknown != nil {
		t.Fatalf("Unknown are %v", unknown)
	}
	h.goOn(t, 5, "b")
	if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
		t.Error(diff)
	}
}

// Who is Unknown costs nothing more. Until a watch shows it, the seed is named to whoever believes the cache.
func TestLifecycle_SeedIsUnknown_CostsNothingOnceItIsSeen(t *testing.T) {
	t.Parallel()
	h := newHearsay(t, "a", "b")
	h.goOn(t, 5, "a", "b")
	heard := func() (time.Time, []string) {
		at, unseen, err := h.Heard(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at, unseen
	}
	if at, unseen := heard(); !at.Equal(h.clock.Now()) || len(unseen) > 0 {
		t.Errorf("heard at %v, unseen %v", at, unseen)
	}
	h.goOn(t, 6, "b")
	if at, unseen := heard(); !at.Equal(h.clock.Now()) || !slices.Equal(unseen, []string{"a"}) {
		t.Errorf("heard at %v, unseen %v, want a", at, unseen)
	}
	h.show(t, "a")
	h.goOn(t, 1, "b")
	h.clock.Step(time.Second)
	write(t, h.seen, "b", h.clock.Now())
	if at, unseen := heard(); !at.Equal(h.clock.Now()) || len(unseen) > 0 {
		t.Errorf("heard at %v, unseen %v, want it now, and nobody", at, unseen)
	}
	clear(h.requests)
	h.goOn(t, 40, "b")
	if h.requests["list"] != 2*2 || h.requests["patch"] > 0 || h.requests["get"] > 0 {
		t.Errorf("in 40 seconds asked for %v, want 2 lists of Seeds and of Leases", h.requests)
	}
}

// A watch of Seeds that stands still hides neither that a seed was back, nor that the garden has forgotten a silence.
func TestLifecycle_ConditionsAreNotShown_SilenceIsFoundAgain(t *testing.T) {
	t.Parallel()
	ready := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"GardenletReady","status":"True"}]}}`))
	for name, c := range map[string]struct {
		shown string // the status of a, once it is Unknown
		back  int    // seconds for which a is heard again
	}{
		"was back, shown as Unknown": {"Unknown", 3},
		"was back, shown as ready":   {"True", 3},
		"the garden went back":       {"True", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHearsay(t, "a", "b")
			h.goOn(t, 5, "a", "b")
			h.goOn(t, 6, "b")
			if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
				t.Fatal(diff)
			}
			if c.shown == "Unknown" {
				h.show(t, "a")
			}
			h.goOn(t, c.back, "a", "b")
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			if err := h.garden.Status().Patch(t.Context(), seed, ready); err != nil {
				t.Fatal(err)
			}
			h.goOn(t, 5, "b")
			if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A watch of Seeds that stands still hides no seed: one that was rebuilt, is new, or had no conditions yet.
func TestLifecycle_SeedIsNotShownAsItIs_IsUnknownInTime(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*hearsay) error{
		"rebuilt": func(h *hearsay) error {
			seed, lease := newSeed("a", "uid-new", h.began)
			_, shown := newSeed("a", "uid-new", h.began)
			return errors.Join(h.garden.Delete(t.Context(), seed), h.garden.Delete(t.Context(), lease),
				h.seen.Delete(t.Context(), shown), h.garden.Create(t.Context(), seed), h.garden.Create(t.Context(), lease),
				h.seen.Create(t.Context(), shown))
		},
		"new": func(h *hearsay) error {
			seed, _ := newSeed("a", "uid-a", h.began)
			return h.seen.Delete(t.Context(), seed)
		},
		"without conditions": func(h *hearsay) error {
			seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			return h.seen.Status().Patch(t.Context(), seed,
				client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":null}}`)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHearsay(t, "a", "b")
			if err := change(h); err != nil {
				t.Fatal(err)
			}
			h.goOn(t, 30, "a", "b")
			if unknown := h.unknown(t); unknown != nil {
				t.Fatalf("all seeds renew their leases, Unknown are %v", unknown)
			}
			h.goOn(t, 5, "b")
			if diff := cmp.Diff([]string{"a"}, h.unknown(t)); diff != "" {
				t.Error(diff)
			}
			if _, unseen, err := h.Heard(t.Context()); err != nil || !slices.Equal(unseen, []string{"a"}) {
				t.Errorf("unseen %v, %v; want a", unseen, err)
			}
		})
	}
}

// A seed that is deleted is not named any more, and nothing of it is kept.
func TestLifecycle_SilentSeedIsDeleted_IsForgotten(t *testing.T) {
	t.Parallel()
	h := newHearsay(t, "a", "b")
	h.goOn(t, 5, "a", "b")
	h.goOn(t, 6, "b")
	for _, c := range []client.Client{h.garden, h.seen} {
		seed, lease := newSeed("a", "uid-a", h.began)
		if err := errors.Join(c.Delete(t.Context(), seed), c.Delete(t.Context(), lease)); err != nil {
			t.Fatal(err)
		}
	}
	h.goOn(t, 1, "b")
	_, unseen, err := h.Heard(t.Context())
	if err != nil || len(unseen) > 0 || len(h.declared) > 0 || len(h.silence.heard) != 1 {
		t.Errorf("unseen %v, declared %v, heard %v, %v", unseen, h.declared, h.silence.heard, err)
	}
	clear(h.requests)
	h.goOn(t, 40, "b")
	if h.requests["list"] != 2*2 {
		t.Errorf("in 40 seconds asked for %v, want 2 lists of Seeds and of Leases", h.requests)
	}
}
