package operation

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestOnlyWhatThisSeedLeftHalfDoneIsAborted(t *testing.T) {
	t.Parallel()
	shoot := func(name, spec, status string, state gardencorev1beta1.LastOperationState) *gardencorev1beta1.Shoot {
		s := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "garden-p"}}
		s.Spec.SeedName = &spec
		if status != "" {
			s.Status.SeedName = ptr.To(status)
		}
		if state != "" {
			s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeMigrate,
				State: state, Progress: 40}
		}
		return s
	}
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	base := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&gardencorev1beta1.Shoot{}).WithObjects(
		shoot("leaving", "b", "a", "Processing"), shoot("first", "a", "", "Processing"),
		shoot("arriving", "a", "b", "Processing"), shoot("done", "a", "a", "Succeeded"),
		shoot("failing", "a", "a", "Error"), shoot("new", "a", "", ""),
	).Build()
	read := map[string]bool{}
	// Every status is written by somebody else between our reading and our first patch.
	raced := map[string]bool{}
	garden := interceptor.NewClient(base,
		interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			read[key.Name] = true
			return c.Get(ctx, key, o, options...)
		}, SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			options ...client.SubResourcePatchOption) error {
			if !raced[o.GetName()] {
				raced[o.GetName()] = true
				other := &gardencorev1beta1.Shoot{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), other); err != nil {
					return err
				}
				other.Status.IsHibernated = true
				if err := c.Status().Update(ctx, other); err != nil {
					return err
				}
			}
			return c.SubResource(sub).Patch(ctx, o, p, options...)
		}})
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if err := AbortInterrupted(t.Context(), garden, testingclock.NewFakePassiveClock(now), "a"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"leaving": true, "first": true}, read); diff != "" {
		t.Errorf("read one by one, of all the garden's shoots (-want +got):\n%s", diff)
	}
	got := map[string]gardencorev1beta1.LastOperationState{}
	shoots := &gardencorev1beta1.ShootList{}
	if err := garden.List(t.Context(), shoots); err != nil {
		t.Fatal(err)
	}
	for _, s := range shoots.Items {
		if last := s.Status.LastOperation; last != nil {
			got[s.Name] = last.State
			if last.State == gardencorev1beta1.LastOperationStateAborted &&
				(last.Progress != 40 || !last.LastUpdateTime.Time.Equal(now)) {
				t.Errorf("%s: %+v", s.Name, last)
			}
		}
	}
	want := map[string]gardencorev1beta1.LastOperationState{
		"leaving": "Aborted", "first": "Aborted", "arriving": "Processing", "done": "Succeeded", "failing": "Error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
