package run

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// A flow is at work until its end is written: whoever waits for that end finds nobody at work any more.
func TestAtWork_EndsBeforeTheLastWrite(t *testing.T) {
	t.Parallel()
	o := begun(t)
	o.WaitInterval, o.Shoot.Status.UID = time.Minute, "u"
	key, work := client.ObjectKeyFromObject(o.Shoot), &AtWork{}
	var atWork []bool
	o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, resource string, object client.Object,
			patch client.Patch, options ...client.SubResourcePatchOption) error {
			_, works := work.On(key)
			atWork = append(atWork, works)
			return c.SubResource(resource).Patch(ctx, object, patch, options...)
		},
	})
	runner := &Runner{Version: "v1", Events: &controlplanetest.EventReasons{}, AtWork: work,
		Periods: Periods{Retry: time.Hour}}
	err := runner.Run(t.Context(), o.Scope, Flow{Type: "Reconcile", Work: func(context.Context, *Reporter) error {
		if flow, works := work.On(key); !works || flow != gardencorev1beta1.LastOperationTypeReconcile {
			t.Errorf("at work is %q: %t", flow, works)
		}
		return nil
	}})
	if err != nil || len(atWork) != 2 || atWork[0] || atWork[1] {
		t.Errorf("at work while the status was written: %v, want not at the begin, nor at the end; %v", atWork, err)
	}
}
