package patch_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/controllers/patch"
)

func TestPatch_ObjectWrittenByOthersSinceItWasRead_ConflictsWithLock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		patch  func(context.Context, client.Client, client.Object, func()) error
		status bool
		locks  bool
	}{
		{"Object", patch.Object, false, false},
		{"LockedObject", patch.LockedObject, false, true},
		{"Status", patch.Status, true, false},
		{"LockedStatus", patch.LockedStatus, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			read := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			fakeClient := fake.NewClientBuilder().WithObjects(read).WithStatusSubresource(read).Build()
			key := client.ObjectKey{Name: "n"}
			other := &corev1.Node{}
			if err := fakeClient.Get(ctx, key, read); err != nil {
				t.Fatal(err)
			}
			if err := fakeClient.Get(ctx, key, other); err != nil {
				t.Fatal(err)
			}
			other.Labels = map[string]string{"by": "others"}
			if err := fakeClient.Update(ctx, other); err != nil {
				t.Fatal(err)
			}
			if err := c.patch(ctx, fakeClient, read, func() {}); err != nil || read.ResourceVersion == other.ResourceVersion {
				t.Errorf("a change of nothing was sent: %v", err)
			}
			err := c.patch(ctx, fakeClient, read, func() { read.Spec.PodCIDR, read.Status.Phase = "10.0.0.0/24", "Running" })
			if apierrors.IsConflict(err) != c.locks || (err != nil) != c.locks {
				t.Fatalf("error %v, want a conflict: %t", err, c.locks)
			}
			if err := fakeClient.Get(ctx, key, other); err != nil {
				t.Fatal(err)
			}
			spec, status := other.Spec.PodCIDR != "", other.Status.Phase != ""
			if spec != (!c.locks && !c.status) || status != (!c.locks && c.status) || other.Labels["by"] != "others" {
				t.Errorf("specification written: %t, status: %t, labels %v", spec, status, other.Labels)
			}
		})
	}
}
