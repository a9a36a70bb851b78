package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
)

// The watch of a deletion sees the end of the shoot, perhaps before the deletion itself has the answer to its last
// request.
func TestRun_WatchSeesTheEndFirst_IsDeleted(t *testing.T) {
	t.Parallel()
	o := begun(t)
	shoot := inGarden(t, o)
	shoot.Finalizers = []string{constants.GardenerFinalizer}
	if err := errors.Join(o.Garden.Update(t.Context(), shoot), o.Garden.Delete(t.Context(), shoot)); err != nil {
		t.Fatal(err)
	}
	o.Shoot, o.WaitInterval = inGarden(t, o), time.Second
	o.Shoot.Status.UID = "u"
	var watched context.Context
	o.Garden = interceptor.NewClient(o.Garden.(client.WithWatch), interceptor.Funcs{Patch: func(ctx context.Context,
		garden client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		err := garden.Patch(ctx, object, patch, options...)
		if watched != nil {
			awaitWatch(o, watched)
		}
		return errors.Join(err, ctx.Err())
	}})
	events := &controlplanetest.EventReasons{}
	runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
	err := runner.Run(t.Context(), o.Scope, Flow{Type: "Delete", ReasonStarted: "Deleting", ReasonEnded: "Deleted",
		ReasonError: "DeleteError", Gone: true, Work: func(ctx context.Context, _ *Reporter) error {
			watched = ctx
			return o.RemoveFinalizer(ctx)
		}})
	if err != nil || !slices.Equal(*events, controlplanetest.EventReasons{"Deleting", "Deleted"}) {
		t.Errorf("events %v, %v", *events, err)
	}
}

// awaitWatch lets time pass until the watch of a run has ended it.
func awaitWatch(o *Status, run context.Context) {
	clock := o.Clock.(*testingclock.FakeClock)
	for run.Err() == nil {
		if clock.HasWaiters() {
			clock.Step(time.Second)
		}
		time.Sleep(time.Millisecond)
	}
}

// The end of a deletion is seen by who watches for others' runs, too, and perhaps before the deletion itself hears of
// it.
func TestADeletionIsNotTakenForATakeOver(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		o := begun(t)
		o.Shoot.Status.UID, o.WaitInterval = "u", time.Second
		events := &controlplanetest.EventReasons{}
		runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
		err := runner.Run(t.Context(), o.Scope, Flow{Type: "Delete", ReasonStarted: "Deleting", ReasonEnded: "Deleted",
			ReasonError: "DeleteError", Gone: true, Work: func(ctx context.Context, _ *Reporter) error {
				if err := o.Garden.Delete(ctx, inGarden(t, o)); err != nil {
					return err
				}
				awaitWatch(o, ctx)
				if ends {
					return nil
				}
				return ctx.Err()
			}})
		if err != nil || slices.Contains(*events, "Deleted") != ends || slices.Contains(*events, "DeleteError") {
			t.Errorf("ends %t: events %v, %v", ends, *events, err)
		}
	}
}
