package owner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

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
			o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile,
				controlplanetest.Meanwhile(&writes, c.changes...),
				controlplanetest.AlphasNamespace(nil, c.before)))
			err := o.Advance(t.Context(), c.to, 4)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			namespace := controlplanetest.AlphasNamespace(nil, nil)
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
	o := New(controlplanetest.Scope(t, gardencorev1beta1.LastOperationTypeReconcile, interceptor.Funcs{}))
	if err := o.Advance(t.Context(), tenure.Begun, 4); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
