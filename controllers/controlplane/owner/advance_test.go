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
	const epoch, phase = "transplant.dev/epoch", "transplant.dev/phase"
	type annotations = map[string]string
	of := func(p string) annotations { return annotations{epoch: "4", phase: p} }
	for name, c := range map[string]struct {
		before  annotations
		to      tenure.Phase
		changes []func(*corev1.Namespace)
		want    annotations
		writes  int
		err     string
	}{
		"it begins":        {before: of("Claimed"), to: tenure.Begun, want: of("Begun"), writes: 1},
		"it had begun":     {before: of("Begun"), to: tenure.Begun, want: of("Begun")},
		"it is abandoned":  {before: of("Begun"), to: tenure.Abandoned, writes: 1},
		"it was abandoned": {to: tenure.Abandoned},
		"it had begun, by an older build": {
			before: annotations{epoch: "4", "transplant.dev/begun-epoch": "4"}, to: tenure.Begun, want: of("Begun"), writes: 1,
		},
		"another label": {
			before: of("Claimed"), to: tenure.Begun, changes: []func(*corev1.Namespace){label("1"), label("2")},
			want: of("Begun"), writes: 3,
		},
		"another begins the same": {
			before: of("Claimed"), to: tenure.Begun, changes: []func(*corev1.Namespace){set(phase, "Begun")},
			want: of("Begun"), writes: 1,
		},
		"another ends the same": {
			before: of("Deployed"), to: tenure.Begun, changes: []func(*corev1.Namespace){set(phase, "Saved")},
			want: of("Saved"), writes: 1, err: "has changed meanwhile: 4 Saved, before 4 Deployed",
		},
		"another claims a newer epoch": {
			before: of("Claimed"), to: tenure.Begun, changes: []func(*corev1.Namespace){set(epoch, "5")},
			want: annotations{epoch: "5", phase: "Claimed"}, writes: 1,
			err: "has changed meanwhile: 5 Claimed, before 4 Claimed",
		},
		"another begins what is to end": {
			before: of("Claimed"), to: tenure.Ended, changes: []func(*corev1.Namespace){set(phase, "Begun")},
			want: of("Begun"), writes: 1, err: "has changed meanwhile: 4 Begun, before 4 Claimed",
		},
		"another claims a newer epoch during the clean-up": {
			before: of("Begun"), to: tenure.Abandoned, changes: []func(*corev1.Namespace){set(epoch, "5")},
			want: annotations{epoch: "5", phase: "Begun"}, writes: 1, err: "has changed meanwhile: 5 Begun, before 4 Begun",
		},
		"the epoch cannot be read": {
			before: annotations{epoch: "four"}, to: tenure.Begun, want: annotations{epoch: "four"}, err: epoch,
		},
		"the phase cannot be read": {before: of("begun"), to: tenure.Begun, want: of("begun"), err: phase},
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
