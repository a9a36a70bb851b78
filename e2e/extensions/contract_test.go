package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// idle is an actuator that does nothing but what meanwhile says.
type idle struct{ meanwhile func() }

func (i idle) reconcile(context.Context, *extensionsv1alpha1.Network) error {
	i.meanwhile()
	return nil
}

func (i idle) migrate(context.Context, *extensionsv1alpha1.Network) error { i.meanwhile(); return nil }

func (i idle) remove(context.Context, *extensionsv1alpha1.Network) error { i.meanwhile(); return nil }

// newRequest returns a Network that is due for an operation.
func newRequest(operation string) *extensionsv1alpha1.Network {
	obj := &extensionsv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "alpha",
		Finalizers:  []string{"extensions.gardener.cloud/network", "example.org/other"},
		Annotations: map[string]string{constants.GardenerOperation: operation}}}
	if operation == constants.GardenerOperationReconcile {
		obj.Finalizers = nil
	}
	obj.Spec.Type = networkType
	return obj
}

// newReconciler returns one of Networks, on a seed that refuses whole updates.
func newReconciler(t *testing.T, obj *extensionsv1alpha1.Network, meanwhile func(client.Client),
	patched func([]byte)) *reconciler[*extensionsv1alpha1.Network] {
	t.Helper()
	p := newProgramOn(t, obj)
	seed := p.Client.(client.WithWatch)
	p.Client = interceptor.NewClient(seed, interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			t.Error("the whole object is written, with the fields of our types only")
			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			content, err := patch.Data(obj)
			if err != nil {
				return err
			}
			patched(content)
			return c.Patch(ctx, obj, patch, options...)
		},
	})
	kind, _ := extensionsv1alpha1.KindByName(extensionsv1alpha1.NetworkResource)
	return &reconciler[*extensionsv1alpha1.Network]{program: p, kind: kind, ofType: networkType,
		actuator: idle{func() { meanwhile(seed) }}}
}

// Nothing but the changed metadata is written, and only to the object that was read.
func TestReconcile_Metadata_IsPatchedWithLock(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"reconcile", "migrate", "restore"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			obj, patches := newRequest(operation), 0
			r := newReconciler(t, obj, func(client.Client) {}, func(content []byte) {
				patches++
				var patch map[string]map[string]any
				if err := json.Unmarshal(content, &patch); err != nil || len(patch) != 1 || len(patch["metadata"]) != 2 ||
					patch["metadata"]["resourceVersion"] == "" {
					t.Errorf("%s is written, want one field of the metadata and the resourceVersion", content)
				}
			})
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)}); err != nil {
				t.Fatal(err)
			}
			if err := r.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				t.Fatal(err)
			}
			owned := slices.Contains(obj.Finalizers, "extensions.gardener.cloud/network")
			if owned == (operation == "migrate") || obj.Annotations[constants.GardenerOperation] != "" || patches == 0 {
				t.Errorf("after %d patches, finalizers are %q and annotations %v", patches, obj.Finalizers, obj.Annotations)
			}
		})
	}
}

// A request that comes while an earlier one is served is not taken off with it.
func TestReconcile_RequestMeanwhile_Stays(t *testing.T) {
	t.Parallel()
	obj := newRequest("restore")
	r := newReconciler(t, obj, func(seed client.Client) {
		migrate := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"annotations":{"gardener.cloud/operation":`+
			`"migrate"}}}`))
		if err := seed.Patch(t.Context(), newRequest(""), migrate); err != nil {
			t.Error(err)
		}
	}, func([]byte) {})
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
	if err != nil && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil ||
		obj.Annotations[constants.GardenerOperation] != "migrate" {
		t.Errorf("the request is %q, %v, want migrate", obj.Annotations[constants.GardenerOperation], err)
	}
}

// What the program writes to an object wakes nobody: each error would have its object tried again at once.
func TestAsks_OwnStatus_AsksForNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*extensionsv1alpha1.Network)
		want   bool
	}{
		"an error in the status": {func(o *extensionsv1alpha1.Network) {
			o.ResourceVersion = "2"
			o.Status.LastError = &gardencorev1beta1.LastError{Description: "request 4711 failed"}
		}, false},
		"a finalizer": {func(o *extensionsv1alpha1.Network) { o.Finalizers = nil }, false},
		"a request": {func(o *extensionsv1alpha1.Network) {
			o.Annotations = map[string]string{"x": "y"}
		}, true},
		"a new spec or a deletion": {func(o *extensionsv1alpha1.Network) { o.Generation++ }, true},
	} {
		before := newRequest("migrate")
		after := before.DeepCopy()
		c.change(after)
		if got := asks().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if !asks().Create(event.CreateEvent{Object: newRequest("")}) {
		t.Error("what was there before the program asks for nothing")
	}
}
