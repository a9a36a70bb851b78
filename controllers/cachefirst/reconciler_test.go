package cachefirst_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/patch"
)

const label = "example.org/done"

func node(name, done string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: done}}}
}

// marker sets the label to yes. A node with the label later waits.
type marker struct{ client.Client }

func (m marker) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	found := &corev1.Node{}
	if err := m.Get(ctx, request.NamespacedName, found); err != nil {
		return reconcile.Result{}, err
	}
	if found.Labels[label] == "later" {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, patch.LockedObject(ctx, m, found, func() { found.Labels[label] = "yes" })
}

// server counts what an API server with these nodes is asked for.
func server(requests map[string]int, nodes ...client.Object) client.Client {
	return fake.NewClientBuilder().WithObjects(nodes...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			requests["get "+key.Name]++
			return c.Get(ctx, key, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			requests["patch "+o.GetName()]++
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
}

func mark(c client.Client) reconcile.Reconciler { return marker{c} }

func TestReconcile_CacheHasNothingToDo_AsksNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cached, live []client.Object
		gets, writes int
	}{
		"done":                      {[]client.Object{node("n", "yes")}, []client.Object{node("n", "yes")}, 0, 0},
		"to be done":                {[]client.Object{node("n", "no")}, []client.Object{node("n", "no")}, 1, 1},
		"done, which is not seen":   {[]client.Object{node("n", "no")}, []client.Object{node("n", "yes")}, 1, 0},
		"not in the cache yet":      {nil, []client.Object{node("n", "no")}, 1, 1},
		"undone, which is not seen": {[]client.Object{node("n", "yes")}, []client.Object{node("n", "no")}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests, writesToCache := map[string]int{}, map[string]int{}
			r := &cachefirst.Reconciler{Of: mark, Live: server(requests, c.live...), Cached: server(writesToCache, c.cached...)}
			if _, err := r.Reconcile(t.Context(), request("n")); err != nil {
				t.Fatal(err)
			}
			if requests["get n"] != c.gets || requests["patch n"] != c.writes || writesToCache["patch n"] > 0 {
				t.Errorf("asked for %v, want %d reads and %d writes; the cache for %v", requests, c.gets, c.writes, writesToCache)
			}
		})
	}
}

func TestReconcile_Locked_CacheDecidesUnlessItIsOld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change       string // of the label, which the cache does not show
		gets, writes int
	}{"as shown": {"", 0, 1}, "changed meanwhile": {"maybe", 1, 2}, "done meanwhile": {"yes", 1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := map[string]int{}
			garden := server(requests, node("n", "no"))
			shown := &corev1.Node{}
			if err := garden.Get(t.Context(), client.ObjectKey{Name: "n"}, shown); err != nil {
				t.Fatal(err)
			}
			seen := fake.NewClientBuilder().WithObjects(shown.DeepCopy()).Build()
			if c.change != "" {
				shown.Labels[label] = c.change
				if err := garden.Update(t.Context(), shown); err != nil {
					t.Fatal(err)
				}
			}
			clear(requests)
			r := &cachefirst.Reconciler{Of: mark, Live: garden, Cached: seen, Locked: true}
			if _, err := r.Reconcile(t.Context(), request("n")); err != nil {
				t.Fatal(err)
			}
			if requests["get n"] != c.gets || requests["patch n"] != c.writes {
				t.Errorf("asked for %v, want %d reads and %d writes", requests, c.gets, c.writes)
			}
			if err := garden.Get(t.Context(), client.ObjectKey{Name: "n"}, shown); err != nil || shown.Labels[label] != "yes" {
				t.Errorf("labels %v, error %v", shown.Labels, err)
			}
		})
	}
}

// A watch that shows nothing is no reason to wait for ever, and many that wait ask no more often than one.
func TestReconcile_ObjectsWait_OneIsReadLiveInEachFallback(t *testing.T) {
	t.Parallel()
	requests := map[string]int{}
	names := []string{"a", "b", "c"}
	var cached, live []client.Object
	for _, name := range names {
		cached, live = append(cached, node(name, "later")), append(live, node(name, "later"))
	}
	live[1] = node("b", "no") // which no watch shows
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	garden := server(requests, live...)
	r := &cachefirst.Reconciler{
		Of: mark, Live: garden, Cached: server(map[string]int{}, cached...), Clock: clock, Fallback: 5 * time.Second,
	}
	for range 26 {
		names = slices.DeleteFunc(names, func(name string) bool {
			result, err := r.Reconcile(t.Context(), request(name))
			if err != nil {
				t.Fatal(err)
			}
			return result.RequeueAfter == 0
		})
		clock.SetTime(clock.Now().Add(time.Second))
	}
	found := &corev1.Node{}
	if err := garden.Get(t.Context(), client.ObjectKey{Name: "b"}, found); err != nil {
		t.Fatal(err)
	}
	if found.Labels[label] != "yes" {
		t.Error("the node that the cache does not show was not marked")
	}
	sum := requests["get a"] + requests["get c"]
	if sum != 4+2 || requests["get b"] != 1+1 || requests["get a"] != requests["get c"] {
		t.Errorf("in 25 seconds asked for %v, want 5 reads in turn, and of a and c another one after that of b", requests)
	}
}

// Where one read shows that the watch is behind, all that wait are read: many are not slower than one.
func TestReconcile_CacheIsBehind_AllThatWaitAreRead(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(client.Client) reconcile.Reconciler{
		"they wait no more": mark,
		"they wait, with another mark": func(c client.Client) reconcile.Reconciler {
			return reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
				_, err := marker{c}.Reconcile(ctx, q)
				return reconcile.Result{RequeueAfter: time.Second}, err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			var cached, live []client.Object
			for i := range 20 {
				name := fmt.Sprint("n", i)
				names, cached, live = append(names, name), append(cached, node(name, "later")), append(live, node(name, "no"))
			}
			clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
			garden := server(map[string]int{}, live...)
			r := &cachefirst.Reconciler{
				Of: of, Live: garden, Cached: server(map[string]int{}, cached...), Clock: clock, Fallback: 5 * time.Second,
			}
			for range 7 {
				for _, name := range names {
					if _, err := r.Reconcile(t.Context(), request(name)); err != nil {
						t.Fatal(err)
					}
				}
				clock.SetTime(clock.Now().Add(time.Second))
			}
			for _, name := range names {
				found := &corev1.Node{}
				if err := garden.Get(t.Context(), client.ObjectKey{Name: name}, found); err != nil || found.Labels[label] != "yes" {
					t.Errorf("%s is marked %q, %v", name, found.Labels[label], err)
				}
			}
		})
	}
}

// An object whose reads fail is retried by its controller, and keeps no other from its turn.
func TestReconcile_OneOfThoseThatWaitFails_OthersHaveTheirTurn(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]string{"its turn fails": "later", "its change fails": "no"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
			requests := map[string]int{}
			seen := server(map[string]int{}, node("a", "later"), node("b", "later"))
			r := &cachefirst.Reconciler{
				Of: mark, Live: server(requests, node("b", "later")), Cached: seen, Clock: clock, Fallback: 5 * time.Second,
			}
			fails := func(name string) bool {
				_, err := r.Reconcile(t.Context(), request(name))
				return err != nil
			}
			if fails("a") || fails("b") {
				t.Fatal("fails before its turn")
			}
			clock.SetTime(clock.Now().Add(6 * time.Second))
			if err := seen.Update(t.Context(), node("a", shown)); err != nil {
				t.Fatal(err)
			}
			if !fails("a") {
				t.Fatal("an object that is not there can be read")
			}
			for range 20 { // a is retried much later
				clock.SetTime(clock.Now().Add(time.Second))
				if fails("b") {
					t.Fatal("b fails")
				}
			}
			if requests["get b"] < 3 {
				t.Errorf("in 20 seconds asked for %v, want 3 reads of b", requests)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	refused := false
	garden := server(map[string]int{}, node("n", "yes"))
	r := &cachefirst.Reconciler{Live: garden, Cached: garden, Of: func(c client.Client) reconcile.Reconciler {
		return reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			err := cachefirst.Ask(c)
			refused = refused || err != nil
			return reconcile.Result{}, err
		})
	}}
	if _, err := r.Reconcile(t.Context(), request("n")); err != nil || !refused {
		t.Errorf("error %v, the cache refused: %t", err, refused)
	}
}

// Nothing that can be written reaches the API server before it was read there.
func TestReconcile_EveryWriteOfTheCache_IsRefused(t *testing.T) {
	t.Parallel()
	ctx, n := t.Context(), node("n", "no")
	for name, write := range map[string]func(client.Client) error{
		"create":       func(c client.Client) error { return c.Create(ctx, n) },
		"update":       func(c client.Client) error { return c.Update(ctx, n) },
		"patch":        func(c client.Client) error { return c.Patch(ctx, n, client.MergeFrom(n)) },
		"apply":        func(c client.Client) error { return c.Apply(ctx, nil) },
		"delete":       func(c client.Client) error { return c.Delete(ctx, n) },
		"delete all":   func(c client.Client) error { return c.DeleteAllOf(ctx, n) },
		"status":       func(c client.Client) error { return c.Status().Patch(ctx, n, client.MergeFrom(n)) },
		"status apply": func(c client.Client) error { return c.Status().Apply(ctx, nil) },
		"subresource":  func(c client.Client) error { return c.SubResource("eviction").Create(ctx, n, n) },
		"read of one":  func(c client.Client) error { return c.SubResource("scale").Get(ctx, n, n) },
		"update of it": func(c client.Client) error { return c.SubResource("scale").Update(ctx, n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers []error
			garden := server(map[string]int{}, n.DeepCopy())
			r := &cachefirst.Reconciler{Live: garden, Cached: garden, Of: func(c client.Client) reconcile.Reconciler {
				return reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					if len(answers) > 0 {
						return reconcile.Result{}, nil
					}
					err := write(c)
					answers = append(answers, err)
					return reconcile.Result{}, err
				})
			}}
			if _, err := r.Reconcile(ctx, request("n")); err != nil {
				t.Fatal(err)
			}
			if len(answers) != 1 || answers[0] == nil || !strings.Contains(answers[0].Error(), "is to be asked") {
				t.Errorf("answers %v, want a refusal", answers)
			}
		})
	}
}
