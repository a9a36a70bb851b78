package controlplane

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// alphasNamespace is the control-plane namespace of shoot alpha.
func alphasNamespace(labels, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shoot--p--alpha", Labels: labels, Annotations: annotations,
	}}
}

// meanwhile lets somebody else change the namespace before each of the first writes to it, and counts all writes.
func meanwhile(writes *int, changes ...func(*corev1.Namespace)) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, object client.Object,
		patch client.Patch, options ...client.PatchOption) error {
		if _, is := object.(*corev1.Namespace); is {
			if *writes < len(changes) {
				now := &corev1.Namespace{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
					return err
				}
				changes[*writes](now)
				if err := c.Update(ctx, now); err != nil {
					return err
				}
			}
			*writes++
		}
		return c.Patch(ctx, object, patch, options...)
	}}
}

// What an epoch has come to is written over the epochs that were read, and over nothing else.
func TestAdvance(t *testing.T) {
	t.Parallel()
	set := func(annotation, value string) func(*corev1.Namespace) {
		return func(n *corev1.Namespace) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, annotation, value) }
	}
	label := func(value string) func(*corev1.Namespace) {
		return func(n *corev1.Namespace) { metav1.SetMetaDataLabel(&n.ObjectMeta, "another", value) }
	}
	const epoch, begun = "transplant.dev/epoch", "transplant.dev/begun-epoch"
	type annotations = map[string]string
	for name, c := range map[string]struct {
		before  annotations
		to      tenure.Step
		changes []func(*corev1.Namespace)
		want    annotations
		writes  int
		err     string
	}{
		"it begins": {
			before: annotations{epoch: "4"}, to: tenure.Begun, want: annotations{epoch: "4", begun: "4"}, writes: 1,
		},
		"it had begun": {
			before: annotations{epoch: "4", begun: "4"}, to: tenure.Begun, want: annotations{epoch: "4", begun: "4"},
		},
		"it is abandoned": {
			before: annotations{epoch: "4", begun: "4"}, to: tenure.Abandoned, want: annotations{begun: "4"}, writes: 1,
		},
		"it was abandoned": {before: annotations{begun: "4"}, to: tenure.Abandoned, want: annotations{begun: "4"}},
		"another label": {
			before: annotations{epoch: "4"}, to: tenure.Begun, changes: []func(*corev1.Namespace){label("1"), label("2")},
			want: annotations{epoch: "4", begun: "4"}, writes: 3,
		},
		"another begins the same": {
			before: annotations{epoch: "4"}, to: tenure.Begun, changes: []func(*corev1.Namespace){set(begun, "4")},
			want: annotations{epoch: "4", begun: "4"}, writes: 1,
		},
		"another claims a newer epoch": {
			before: annotations{epoch: "4"}, to: tenure.Begun, changes: []func(*corev1.Namespace){set(epoch, "5")},
			want: annotations{epoch: "5"}, writes: 1, err: "have changed meanwhile",
		},
		"another claims a newer epoch during the clean-up": {
			before: annotations{epoch: "4"}, to: tenure.Abandoned, changes: []func(*corev1.Namespace){set(epoch, "5")},
			want: annotations{epoch: "5"}, writes: 1, err: "have changed meanwhile",
		},
		"the epoch cannot be read": {
			before: annotations{epoch: "four"}, to: tenure.Begun, want: annotations{epoch: "four"}, err: epoch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			o := newOperation(t, gardencorev1beta1.LastOperationTypeReconcile, meanwhile(&writes, c.changes...),
				alphasNamespace(nil, c.before))
			err := o.Advance(t.Context(), c.to, 4)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			namespace := alphasNamespace(nil, nil)
			if err := o.Seed.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, namespace.Annotations); diff != "" || writes != c.writes {
				t.Errorf("%d writes, want %d; annotations (-want +got):\n%s", writes, c.writes, diff)
			}
			if got, want := namespace.Labels["another"], fmt.Sprint(len(c.changes)); strings.HasSuffix(name, "label") &&
				got != want {
				t.Errorf("the other's label is %q, want %q", got, want)
			}
		})
	}
}

func TestAdvance_NoNamespace_IsAnError(t *testing.T) {
	t.Parallel()
	o := newOperation(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{})
	if err := o.Advance(t.Context(), tenure.Begun, 4); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

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
		"transplant.dev/shoot": "garden-p/alpha",
	}
	for name, c := range map[string]struct {
		before              *corev1.Namespace
		appears             bool              // between the look and the creation
		annotations, labels map[string]string // beside those that every namespace gets
	}{
		"it is new":              {},
		"somebody else makes it": {appears: true},
		"it is of an epoch before": {
			before: alphasNamespace(
				map[string]string{"kept": "x", "extensions.extensions.gardener.cloud/gone": "true"},
				map[string]string{"transplant.dev/epoch": "3", "transplant.dev/begun-epoch": "3", "kept": "y"}),
			annotations: map[string]string{"transplant.dev/begun-epoch": "3", "kept": "y"},
			labels:      map[string]string{"kept": "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			funcs := meanwhile(&writes)
			funcs.Create = func(ctx context.Context, seed client.WithWatch, object client.Object,
				options ...client.CreateOption) error {
				if _, is := object.(*corev1.Namespace); is && object.GetAnnotations()["transplant.dev/epoch"] != "4" {
					t.Errorf("it is made with %v: as if this seed cleaned up", object.GetAnnotations())
				}
				if c.appears {
					if err := seed.Create(ctx, alphasNamespace(nil, nil)); err != nil {
						return err
					}
				}
				return seed.Create(ctx, object, options...)
			}
			var onSeed []client.Object
			if c.before != nil {
				onSeed = append(onSeed, c.before)
			}
			o, _ := onSeedA(t, gardencorev1beta1.LastOperationTypeReconcile, nil, funcs, onSeed...)
			o.Epoch = 4
			o.Shoot.Spec.Extensions = []gardencorev1beta1.Extension{{Type: "mirror"}}
			for range 2 { // the second finds nothing to write
				if err := o.DeployNamespace(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			namespace := alphasNamespace(nil, nil)
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
