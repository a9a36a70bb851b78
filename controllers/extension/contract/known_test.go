package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// asked counts what a reconciler asks the API server for.
type asked map[string]int

// watched is a reconciler of Networks whose watches have shown what known has, with the count of its live reads.
func watched(kind Kind[*extensionsv1alpha1.Network], seed client.WithWatch, known client.Reader) (
	*Reconciler[*extensionsv1alpha1.Network], asked) {
	reads := asked{}
	live := interceptor.NewClient(seed, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			reads[fmt.Sprintf("get %T", o)]++
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			reads[fmt.Sprintf("list %T", list)]++
			return c.List(ctx, list, options...)
		},
	})
	return &Reconciler[*extensionsv1alpha1.Network]{
		Client: live, Known: known, Clock: testingclock.NewFakeClock(time.Now()), Kind: kind, Type: "x",
		Class: extensionsv1alpha1.ExtensionClassShoot,
	}, reads
}

func asking(operation string) *extensionsv1alpha1.Network {
	o := object(operation, "Reconcile", "Succeeded", false)
	o.Name, o.Namespace = "n", "ns"
	metav1.SetMetaDataAnnotation(&o.ObjectMeta, "gardener.cloud/timestamp", "first")
	return o
}

func clusterWith(t *testing.T, state gardencorev1beta1.LastOperationState) *extensionsv1alpha1.Cluster {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: state}
	raw, err := json.Marshal(shoot)
	if err != nil {
		t.Fatal(err)
	}
	return &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "ns"},
		Spec: extensionsv1alpha1.ClusterSpec{Shoot: runtime.RawExtension{Raw: raw}}}
}

// What an event beside the objects may concern is looked up in what watches have shown.
func TestInNamespace_EventBesideObjects_AsksNobody(t *testing.T) {
	t.Parallel()
	due, done := asking("restore"), object("", "Reconcile", "Succeeded", false)
	done.Name, done.Namespace = "done", "ns"
	seed, _ := fakeSeed(t)
	known, _ := fakeSeed(t, due, done)
	r, reads := watched(KindOf[*extensionsv1alpha1.Network]("Network"), seed, known)
	if got := r.inNamespace(t.Context(), "ns"); len(got) != 1 || got[0].Name != "n" {
		t.Errorf("woken: %v", got)
	}
	if len(reads) > 0 {
		t.Errorf("read: %v", reads)
	}
}

// Whether the shoot has failed is known, unless that would change what is done.
func TestReconcile_KindThatIgnoresCluster_ReadsItOnlyWhereItDecides(t *testing.T) {
	t.Parallel()
	const processing, failed = gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStateFailed
	for name, test := range map[string]struct {
		known, live gardencorev1beta1.LastOperationState
		looks       bool // the kind's actions look at the Cluster
		deleting    bool
		last        string // the state of the last operation; empty for Succeeded
		reads       int
		acts        bool
	}{
		"known":                          {known: processing, live: processing, acts: true},
		"not shown yet":                  {live: processing, reads: 1, acts: true},
		"failed":                         {known: failed, live: failed, reads: 1},
		"not failed any more":            {known: failed, live: processing, reads: 1, acts: true},
		"a kind that looks at it":        {known: processing, live: processing, looks: true, reads: 1, acts: true},
		"deletion, perhaps by force":     {known: processing, live: processing, deleting: true, reads: 1, acts: true},
		"failed, first attempt":          {known: processing, live: failed, acts: true},
		"failed, attempt after an error": {known: processing, live: failed, last: "Error", reads: 1},
		"failed, attempt after a wait":   {known: processing, live: failed, last: "Processing", reads: 1},
	} {
		o, acts := asking("reconcile"), false
		if test.last != "" {
			o.Status.LastOperation.State = gardencorev1beta1.LastOperationState(test.last)
		}
		seen := []client.Object{o.DeepCopy()}
		if test.known != "" {
			seen = append(seen, clusterWith(t, test.known))
		}
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.IgnoresCluster = !test.looks
		if test.deleting {
			o.Finalizers = []string{kind.Finalizer}
		}
		kind.OnReconcile = func(context.Context, logr.Logger, *extensionsv1alpha1.Network, *Cluster) error {
			acts = true
			return nil
		}
		kind.OnDelete = kind.OnReconcile
		seed, _ := fakeSeed(t, o, clusterWith(t, test.live))
		if test.deleting {
			if err := seed.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		known, _ := fakeSeed(t, seen...)
		r, reads := watched(kind, seed, known)
		if _, err := r.Reconcile(t.Context(), requestFor(o)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := asked{"get *v1alpha1.Network": 1}
		if test.reads > 0 {
			want["get *v1alpha1.Cluster"] = test.reads
		}
		if diff := cmp.Diff(want, reads); diff != "" || acts != test.acts {
			t.Errorf("%s: acts %t, reads (-want +got):\n%s", name, acts, diff)
		}
	}
}

// The action of an object that waits is called when what it waits for is there, when something else is asked, or when
// its time is over although no watch has shown anything; and not for other events.
func TestReconcile_ObjectThatWaits_IsCalledWhenItMatters(t *testing.T) {
	t.Parallel()
	const second, pause = time.Second, 5 * time.Second
	for name, test := range map[string]struct {
		shown, there bool // what is waited for
		request      string
		passes       []time.Duration
		calls, reads int // reads of Networks
		again        time.Duration
	}{
		"another event":             {passes: []time.Duration{second}, again: 4 * second},
		"it is there":               {shown: true, passes: []time.Duration{second}, calls: 1, reads: 1, again: pause},
		"another request":           {request: "second", passes: []time.Duration{second}, calls: 1, reads: 1, again: pause},
		"no event, not there":       {passes: []time.Duration{pause}, reads: 2, again: pause},
		"no event, and it is there": {there: true, passes: []time.Duration{pause}, calls: 1, reads: 3, again: pause},
		"no event for too long":     {passes: []time.Duration{pause, pause}, calls: 1, reads: 3, again: pause},
	} {
		o, awaited, calls := asking("restore"), asking(""), 0
		awaited.Name = "awaited"
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.ClusterOptional = true
		kind.OnReconcile = func(context.Context, logr.Logger, *extensionsv1alpha1.Network, *Cluster) error {
			calls++
			return &Pending{For: "machines", After: pause, Still: func(ctx context.Context, from client.Reader) bool {
				return from.Get(ctx, client.ObjectKeyFromObject(awaited), awaited.DeepCopy()) != nil
			}}
		}
		seed, _ := fakeSeed(t, o)
		known, _ := fakeSeed(t, o.DeepCopy())
		r, reads := watched(kind, seed, known)
		if result, err := r.Reconcile(t.Context(), requestFor(o)); err != nil || result.RequeueAfter != pause {
			t.Fatalf("%s: %v, %v", name, result, err)
		}
		calls = 0
		clear(reads)
		asks := o.DeepCopy()
		if test.request != "" {
			asks.Annotations["gardener.cloud/timestamp"] = test.request
		}
		r.Known, _ = fakeSeed(t, asks)
		for at, is := range map[client.Client]bool{r.Known.(client.Client): test.shown, seed: test.there} {
			if is {
				if err := at.Create(t.Context(), awaited.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
		}
		var again time.Duration
		for _, pass := range test.passes {
			r.Clock.(*testingclock.FakeClock).Step(pass)
			result, err := r.Reconcile(t.Context(), requestFor(o))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			again = result.RequeueAfter
		}
		if got := reads["get *v1alpha1.Network"]; calls != test.calls || got != test.reads || again != test.again {
			t.Errorf("%s: %d calls, %d reads, looked at again after %v", name, calls, got, again)
		}
	}
}

// A new object is taken as a watch has shown it, and read if it is not so any more.
func TestReconcile_NewObject_LockOfTheFinalizerProvesIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request string              // of the object that is shown
		changed bool                // since then
		secret  bool                // the finalizer is on its Secret, too
		acts    []string            // the requests that are acted on, in two passes
		reads   int                 // of Networks, in two passes
		shown   func(client.Object) // what else is shown
	}{
		"as shown":         {request: "restore", acts: []string{"first"}}, // the second pass is a conflict
		"changed since":    {request: "restore", changed: true, acts: []string{"second"}, reads: 1},
		"migrate":          {request: "migrate", reads: 2},
		"nothing is asked": {request: "wait-for-state"},
		"with a Secret":    {request: "restore", secret: true, acts: []string{"first"}, reads: 2},
		"it has the finalizer": {request: "restore", acts: []string{"first"}, reads: 2, shown: func(o client.Object) {
			o.SetFinalizers([]string{KindOf[*extensionsv1alpha1.Network]("Network").Finalizer})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := asking(test.request)
			o.Status.LastOperation = nil
			if test.shown != nil {
				test.shown(o)
			}
			var acts []string
			kind := KindOf[*extensionsv1alpha1.Network]("Network")
			kind.ClusterOptional = true
			kind.OnReconcile = func(_ context.Context, _ logr.Logger, o *extensionsv1alpha1.Network, _ *Cluster) error {
				acts = append(acts, RequestOf(o).Timestamp)
				return nil
			}
			if test.secret {
				kind.Secret = func(*extensionsv1alpha1.Network) *corev1.SecretReference { return nil }
			}
			seed, _ := fakeSeed(t, o)
			shown := o.DeepCopy()
			if err := seed.Get(t.Context(), client.ObjectKeyFromObject(o), shown); err != nil {
				t.Fatal(err)
			}
			if test.changed {
				changed := shown.DeepCopy()
				changed.Annotations["gardener.cloud/timestamp"] = "second"
				if err := seed.Update(t.Context(), changed); err != nil {
					t.Fatal(err)
				}
			}
			r, reads := watched(kind, seed, stands{seed, shown})
			for range 2 {
				if _, err := r.Reconcile(t.Context(), requestFor(o)); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(test.acts, acts); diff != "" || reads["get *v1alpha1.Network"] != test.reads {
				t.Errorf("reads %v, acts on (-want +got):\n%s", reads, diff)
			}
		})
	}
}

// stands is a watch that goes on to show a Network as it was.
type stands struct {
	client.Reader
	network *extensionsv1alpha1.Network
}

func (s stands) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if network, is := o.(*extensionsv1alpha1.Network); is {
		s.network.DeepCopyInto(network)
		return nil
	}
	return s.Reader.Get(ctx, key, o, options...)
}
