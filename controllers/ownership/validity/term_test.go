package validity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

func TestTermLapsesForGood(t *testing.T) {
	t.Parallel()
	clock := &ownershiptest.Clock{}
	term := validity.NewTerm(clock, 7, clock.Now().Add(5*time.Second))
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
	term := validity.NewTerm(clock, 7, clock.Now().Add(5*time.Second))
	ctx, cancel := term.Context(t.Context())
	defer cancel()
	ownershiptest.Eventually(t, "the term's timer", func() bool { return clock.Waiting() > 0 })
	clock.Step(6 * time.Second)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the context of a lapsed term is not cancelled")
	}
	if !errors.Is(context.Cause(ctx), validity.ErrLapsed) {
		t.Errorf("cause is %v, want ErrLapsed", context.Cause(ctx))
	}
}
