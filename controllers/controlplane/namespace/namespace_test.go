package namespace

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
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
