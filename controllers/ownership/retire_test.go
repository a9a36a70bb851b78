package ownership_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

func TestRetireGivesTheShootToNobodyWithANewEpoch(t *testing.T) {
	t.Parallel()
	decision := &ownershiptest.Authority{}
	decision.Set(at(4))
	for range 2 { // a repetition changes nothing
		if err := ownership.Retire(t.Context(), decision, "uid-b"); err != nil {
			t.Fatal(err)
		}
	}
	want := ownership.Record{Owner: "none", Epoch: 5, Seed: "b"}
	if diff := cmp.Diff(want, decision.Record()); diff != "" {
		t.Error(diff)
	}
	if parsed, err := ownership.ParseRecord(decision.Record().String()); err != nil || parsed != want ||
		!parsed.Retired() {
		t.Errorf("in DNS it is %v: %v", parsed, err)
	}
}

func TestRetireLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	decision := &ownershiptest.Authority{}
	if err := ownership.Retire(t.Context(), decision, "uid-b"); err != nil || !decision.Record().Absent() {
		t.Errorf("a shoot that never had an owner: %v: %v", decision.Record(), err)
	}
	decision.Set(self)
	var notOwner *ownership.NotOwnerError
	if err := ownership.Retire(t.Context(), decision, "uid-b"); !errors.As(err, &notOwner) || decision.Record() != self {
		t.Errorf("another's shoot: %v: %v", decision.Record(), err)
	}
	decision.BeforeNextWrite(func() { decision.Set(ownership.Record{Owner: "uid-c", Epoch: 9, Seed: "c"}) })
	if err := ownership.Retire(t.Context(), decision, self.Owner); !errors.Is(err, ownership.ErrConflict) {
		t.Errorf("a take-over in between: %v", err)
	}
}

func TestO5AfterARetirementGoesOnCountingAndWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim = &ownershiptest.Authority{}
	s.decision.Set(ownership.Record{Owner: ownership.Nobody, Epoch: 7})
	s.restart()
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 8 || waited != 0 {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
}

func TestO5AnEpochThatWasWonIsNotTakenAgain(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	if r, _ := s.stepUntil(t, s.run(t.Context())); r.err != nil || r.epoch != 4 {
		t.Fatalf("epoch %d: %v", r.epoch, r.err)
	}
	if epoch, err := s.takeover.Run(t.Context()); err != nil || epoch != 4 || len(s.claim.Writes()) != 1 {
		t.Errorf("epoch %d, written %v: %v", epoch, s.claim.Writes(), err)
	}
	s.claim.Set(self) // the garden goes back to a backup before the start
	if r, waited := s.stepUntil(t, s.run(t.Context())); r.err != nil || r.epoch != 5 || waited < timing.Wait() {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
}
