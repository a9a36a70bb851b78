package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
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
	o.Annotations["gardener.cloud/timestamp"] = "first"
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
		reads       int
		acts        bool
	}{
		"known":                      {known: processing, live: processing, acts: true},
		"not shown yet":              {live: processing, reads: 1, acts: true},
		"failed":                     {known: failed, live: failed, reads: 1},
		"not failed any more":        {known: failed, live: processing, reads: 1, acts: true},
		"a kind that looks at it":    {known: processing, live: processing, looks: true, reads: 1, acts: true},
		"deletion, perhaps by force": {known: processing, live: processing, deleting: true, reads: 1, acts: true},
	} {
		o, acts := asking("reconcile"), false
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

// An object that waits is looked at when what it waits for is there, when something else is asked, or when its time is
// over although no watch has shown anything; and not for other events.
func TestReconcile_ObjectThatWaits_IsLookedAtWhenItMatters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there   bool
		request string
		passes  time.Duration
		looks   bool
	}{
		"another event":         {passes: time.Second},
		"it is there":           {there: true, passes: time.Second, looks: true},
		"another request":       {request: "second", passes: time.Second, looks: true},
		"no event for too long": {passes: 5 * time.Second, looks: true},
	} {
		o, there := asking("restore"), false
		kind := KindOf[*extensionsv1alpha1.Network]("Network")
		kind.ClusterOptional = true
		kind.OnReconcile = func(context.Context, logr.Logger, *extensionsv1alpha1.Network, *Cluster) error {
			return &Pending{For: "machines", After: 5 * time.Second,
				Still: func(context.Context, client.Reader) bool { return !there }}
		}
		seed, _ := fakeSeed(t, o)
		known, _ := fakeSeed(t, o.DeepCopy())
		r, reads := watched(kind, seed, known)
		if result, err := r.Reconcile(t.Context(), requestFor(o)); err != nil || result.RequeueAfter != 5*time.Second {
			t.Fatalf("%s: %v, %v", name, result, err)
		}
		clear(reads)
		if there = test.there; test.request != "" {
			asks := o.DeepCopy()
			asks.Annotations["gardener.cloud/timestamp"] = test.request
			r.Known, _ = fakeSeed(t, asks)
		}
		r.Clock.(*testingclock.FakeClock).Step(test.passes)
		result, err := r.Reconcile(t.Context(), requestFor(o))
		if err != nil || (len(reads) > 0) != test.looks {
			t.Errorf("%s: reads %v, %v", name, reads, err)
		}
		if !test.looks && result.RequeueAfter != 4*time.Second {
			t.Errorf("%s: looked at again after %v", name, result.RequeueAfter)
		}
	}
}
