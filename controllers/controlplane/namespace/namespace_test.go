package namespace

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// beside are the entries of both.
func beside(one, other map[string]string) map[string]string {
	both := maps.Clone(one)
	maps.Copy(both, other)
	return both
}

// The epoch is on the namespace from the beginning, and what others have written there stays.
func TestDeployNamespace(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"gardener.cloud/role": "shoot", "extensions.extensions.gardener.cloud/mirror": "true"}
	claimed := map[string]string{
		"transplant.dev/epoch": "4", "transplant.dev/owner": "uid-a", "transplant.dev/owner-record": "owner.alpha.p.test",
		"transplant.dev/shoot": "garden-p/alpha", "transplant.dev/phase": "Claimed",
	}
	for name, c := range map[string]struct {
		before              *corev1.Namespace
		appears             bool              // between the look and the creation
		annotations, labels map[string]string // beside those that every namespace gets
	}{
		"it is new":              {},
		"somebody else makes it": {appears: true},
		"it is of an epoch before": {
			before: controlplanetest.AlphasNamespace(
				map[string]string{"kept": "x", "extensions.extensions.gardener.cloud/gone": "true"},
				map[string]string{"transplant.dev/epoch": "3", "transplant.dev/phase": "Begun", "kept": "y"}),
			annotations: map[string]string{"kept": "y"},
			labels:      map[string]string{"kept": "x"},
		},
		"it has begun": {
			before: controlplanetest.AlphasNamespace(nil,
				map[string]string{"transplant.dev/epoch": "4", "transplant.dev/phase": "Begun"}),
			annotations: map[string]string{"transplant.dev/phase": "Begun"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			funcs := controlplanetest.Meanwhile(&writes)
			funcs.Create = func(ctx context.Context, seed client.WithWatch, object client.Object,
				options ...client.CreateOption) error {
				if _, is := object.(*corev1.Namespace); is && object.GetAnnotations()["transplant.dev/epoch"] != "4" {
					t.Errorf("it is made with %v: as if this seed cleaned up", object.GetAnnotations())
				}
				if c.appears {
					if err := seed.Create(ctx, controlplanetest.AlphasNamespace(nil, nil)); err != nil {
						return err
					}
				}
				return seed.Create(ctx, object, options...)
			}
			var onSeed []client.Object
			if c.before != nil {
				onSeed = append(onSeed, c.before)
			}
			onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, nil, funcs, onSeed...)
			o := New(onA)
			o.Epoch = 4
			o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "mirror"}}
			for range 2 { // the second finds nothing to write
				if err := o.Deploy(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			namespace := controlplanetest.AlphasNamespace(nil, nil)
			if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
				t.Fatal(err)
			}
			diff := cmp.Diff(beside(labels, c.labels), namespace.Labels) +
				cmp.Diff(beside(claimed, c.annotations), namespace.Annotations)
			if diff != "" {
				t.Errorf("labels and annotations (-want +got):\n%s", diff)
			}
			want := 0
			if c.before != nil || c.appears {
				want = 1
			}
			if writes != want {
				t.Errorf("%d patches, want %d", writes, want)
			}
		})
	}
}

// The resource manager of the seed removes the objects of all ManagedResources of its class at the same time. The
// namespace goes when the last is gone. Those of the shoot are not waited for.
func TestDelete_ManagedResourcesOfTheSeed_EndAtOnceBeforeTheNamespace(t *testing.T) {
	t.Parallel()
	managed := func(name, class string) *resourcesv1alpha1.ManagedResource {
		m := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--alpha", Name: name,
			Finalizers: []string{"resources.gardener.cloud/gardener-resource-manager-seed"}}}
		m.Spec.Class = &class
		return m
	}
	var deleted []string
	looks := 0
	onA, _ := controlplanetest.OnSeedA(t, gardencorev1beta1.LastOperationTypeDelete, nil, interceptor.Funcs{
		Delete: func(ctx context.Context, seed client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			deleted = append(deleted, object.GetName())
			return seed.Delete(ctx, object, options...)
		},
		// It is the resource manager, too: at each look it releases one that is being deleted.
		Get: func(ctx context.Context, seed client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if m, is := object.(*resourcesv1alpha1.ManagedResource); is {
				if looks++; len(deleted) != 2 {
					t.Errorf("look %d: only %q are being deleted", looks, deleted)
				}
				if err := seed.Get(ctx, key, m, options...); err != nil {
					return err
				}
				released := m.DeepCopy()
				released.Finalizers = nil
				return seed.Update(ctx, released)
			}
			return seed.Get(ctx, key, object, options...)
		},
	}, controlplanetest.AlphasNamespace(nil, nil), managed("one", "seed"), managed("two", "seed"), managed("shoots", ""))
	onA.WaitInterval = time.Millisecond
	if err := New(onA).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two", "shoot--p--alpha"}, deleted); diff != "" {
		t.Errorf("deleted, in this order (-want +got):\n%s", diff)
	}
	if looks < 4 {
		t.Errorf("%d looks at two managed resources, which were there at the first", looks)
	}
}
