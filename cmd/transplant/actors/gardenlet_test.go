package actors

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
)

// silent accepts every call and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A flow holds its shoot's lock, and a worker, as long as one of its calls lasts.
func TestACallOfAFlowThatNobodyAnswersEnds(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *controlplane.Factory) error{
		"garden": func(ctx context.Context, f *controlplane.Factory) error {
			return f.Garden.Get(ctx, client.ObjectKey{Namespace: "garden-p", Name: "s"}, &gardencorev1beta1.Shoot{})
		},
		"seed": func(ctx context.Context, f *controlplane.Factory) error {
			return f.Seed.Get(ctx, client.ObjectKey{Name: "shoot--p--s"}, &corev1.Namespace{})
		},
		"claim": func(ctx context.Context, f *controlplane.Factory) error {
			_, _, err := f.Owners.Claim("garden-p", "owner.s").Read(ctx)
			return err
		},
		"decision": func(ctx context.Context, f *controlplane.Factory) error {
			_, _, err := f.Owners.Decision("owner.s.p.test").Read(ctx)
			return err
		},
		"bucket": func(ctx context.Context, f *controlplane.Factory) error {
			_, err := f.Bucket.HasFinalSnapshot(ctx, "bucket", "prefix", 3)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				config := &rest.Config{Host: "http://silent.test", Transport: silent{}}
				factory, err := (&gardenletFlags{}).factory(config, config, config, nil)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := call(ctx, factory); err == nil || ctx.Err() != nil {
					t.Errorf("it ended after %v with %v", time.Since(begin), err)
				}
				if config.Timeout != 0 {
					t.Error("what is watched with the same config would end too")
				}
			})
		})
	}
}

func TestFlows_EveryOperation_HasOneController(t *testing.T) {
	t.Parallel()
	stays, moves := (&gardenletFlags{}).flows(nil, nil)
	want := []gardencorev1beta1.LastOperationType{"Create", "Delete", "Migrate", "Reconcile", "Restore"}
	got := slices.AppendSeq(slices.Collect(maps.Keys(stays)), maps.Keys(moves))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations of the controllers (-want +got):\n%s", diff)
	}
}
