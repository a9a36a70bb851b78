package backupentry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// finals is the bucket in which the final snapshot of an epoch is, by epoch. It remembers which buckets were asked.
type finals struct {
	scope.Buckets
	of    map[int64]string
	asked []string
}

func (f *finals) HasFinalSnapshot(_ context.Context, bucket, _ string, epoch int64) (bool, error) {
	f.asked = append(f.asked, bucket)
	return f.of[epoch] == bucket, nil
}

// A wait for the final snapshot asks the bucket often, and the garden once; as long as there is no entry, each time.
func TestFinalSnapshots_OfAWait_ReadTheEntryOnce(t *testing.T) {
	t.Parallel()
	onA, _ := controlplanetest.OnSeedA(t, "Restore", nil, interceptor.Funcs{})
	garden, reads := onA.Garden, 0
	onA.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			options ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, options...)
		},
	})
	buckets := &finals{of: map[int64]string{}}
	onA.Bucket = buckets
	isFinal := (&Entries{Scope: onA}).FinalSnapshots()
	ask := func(want bool) {
		t.Helper()
		if got, err := isFinal(t.Context(), 3); err != nil || got != want {
			t.Errorf("the epoch has ended: %t, want %t; %v", got, want, err)
		}
	}
	ask(false)
	ask(false)
	entry := controlplanetest.EntryIn(controlplanetest.EntryName, "uid-b")
	if err := garden.Create(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	ask(false)
	entry.Spec.BucketName = "uid-c"
	if err := garden.Update(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	ask(false)
	buckets.of[3] = "uid-b"
	ask(true)
	if diff := cmp.Diff([]string{"uid-b", "uid-b", "uid-b"}, buckets.asked); diff != "" || reads != 3 {
		t.Errorf("%d reads of the entry, want 3; asked buckets (-want +got):\n%s", reads, diff)
	}
}
