package ownership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

func TestTermLapsesForGood(t *testing.T) {
	t.Parallel()
	clock := &ownershiptest.Clock{}
	term := ownership.NewTerm(clock, 7, clock.Now().Add(5*time.Second))
	clock.Step(4 * time.Second)
	if !term.Extend(clock.Now().Add(2*time.Second)) || term.Remaining() != 2*time.Second {
		t.Fatalf("a running term was not extended: %v remain", term.Remaining())
	}
	if !term.Extend(clock.Now().Add(time.Second)) || term.Remaining() != 2*time.Second {
		t.Errorf("an older read shortened the term to %v", term.Remaining())
	}
	clock.Step(2 * time.Second)
	if term.Extend(clock.Now().Add(time.Hour)) || term.Valid() {
		t.Error("a lapsed term came back")
	}
	select {
	case <-term.Done():
	default:
		t.Error("Done is open although the term is over")
	}
}

func TestTerm_Lapsed_CancelsItsContext(t *testing.T) {
	t.Parallel()
	clock := &ownershiptest.Clock{}
	term := ownership.NewTerm(clock, 7, clock.Now().Add(5*time.Second))
	ctx, cancel := term.Context(t.Context())
	defer cancel()
	eventually(t, "the term's timer", func() bool { return clock.Waiting() > 0 })
	clock.Step(6 * time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the context of a lapsed term is not cancelled")
	}
	if !errors.Is(context.Cause(ctx), ownership.ErrLapsed) {
		t.Errorf("cause is %v, want ErrLapsed", context.Cause(ctx))
	}
}

func TestBootClockRuns(t *testing.T) {
	t.Parallel()
	clock, err := ownership.NewBootClock()
	if err != nil {
		t.Fatal(err)
	}
	before := clock.Now()
	<-clock.After(time.Millisecond)
	if clock.Now().Sub(before) < time.Millisecond || clock.BootID() == "" {
		t.Errorf("clock moved by %v, boot id %q", clock.Now().Sub(before), clock.BootID())
	}
}

// eventually polls, with a bound, for what another goroutine does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("still waiting for %s", what)
}
