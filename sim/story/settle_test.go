package story

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func settler(t *testing.T, fails int32) *teller {
	t.Helper()
	w := &busy{World: worldtest.New(t, "a", "b"), cluster: "b"}
	clients, err := world.NewClients(w)
	if err != nil {
		t.Fatal(err)
	}
	w.fails.Store(fails)
	told := &teller{Options: Options{
		Scenario: &scenario.Scenario{}, World: w, Journal: timeline.NewJournal(clock.RealClock{}, nil), Clock: clock.RealClock{},
		Patience: Patience{Rest: time.Millisecond},
	}, clients: clients}
	told.Patience.fill()
	return told
}

func settledIn(t *testing.T, told *teller) timeline.Settled {
	t.Helper()
	_, settled, found := timeline.First[timeline.Settled](told.Journal.Events())
	if !found {
		t.Fatal("nobody says whether it has settled")
	}
	return settled
}

// A seed that cannot be looked at may be at rest.
func TestWhatCannotBeReadIsNotSaidToMove(t *testing.T) {
	t.Parallel()
	told := settler(t, math.MaxInt32)
	if err := told.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	settled := settledIn(t, told)
	if settled.Converged || len(settled.Waiting) > 0 || len(settled.Unknown) != 1 || !strings.HasPrefix(settled.Unknown[0], "seed b cannot be read: ") {
		t.Errorf("settled %+v", settled)
	}
}

// Who interrupts a story while it comes to rest has not found anything about it.
func TestAnInterruptWhileItComesToRestBreaksTheStoryOff(t *testing.T) {
	t.Parallel()
	told := settler(t, 0)
	stop := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := told.settle(ctx); !errors.Is(err, stop) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	if settled := settledIn(t, told); settled.Converged || len(settled.Waiting) > 0 {
		t.Errorf("settled %+v", settled)
	}
}
