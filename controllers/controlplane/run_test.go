package controlplane

import (
	"context"
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// eventReasons remembers the reasons of events.
type eventReasons []string

func (e *eventReasons) Event(_ *gardencorev1beta1.Shoot, _, reason, _ string) {
	*e = append(*e, reason)
}

// The end of a deletion is seen by who watches for others' runs, too, and perhaps before the deletion itself hears of
// it.
func TestADeletionIsNotTakenForATakeOver(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		o := begun(t)
		o.Shoot.Status.UID, o.WaitInterval = "u", time.Second
		events := &eventReasons{}
		runner := &Runner{Version: "v1", Events: events, Periods: Periods{Retry: time.Hour}}
		_, err := runner.Run(t.Context(), o, Flow{Type: "Delete", ReasonStarted: "Deleting", ReasonEnded: "Deleted",
			ReasonError: "DeleteError", Gone: true, Work: func(ctx context.Context, _ *Reporter) error {
				if err := o.Garden.Delete(ctx, inGarden(t, o)); err != nil {
					return err
				}
				clock := o.Clock.(*testingclock.FakeClock)
				for ctx.Err() == nil { // until the watch has seen it
					if clock.HasWaiters() {
						clock.Step(time.Second)
					}
					time.Sleep(time.Millisecond)
				}
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
