package ownership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
)

var (
	self   = ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"}
	timing = ownership.Timing{Interval: time.Second, Timeout: 5 * time.Second}
)

func at(epoch int64) ownership.Record {
	return ownership.Record{Owner: "uid-b", Epoch: epoch, Seed: "b"}
}

// takeoverTest is a take-over by seed b of a shoot that a holds with epoch 3, unless the test says otherwise.
type takeoverTest struct {
	clock           *ownershiptest.Clock
	claim, decision *ownershiptest.Authority
	bound           string
	finals          map[int64]bool
	takeover        *ownership.Takeover
}

func newTakeoverTest() *takeoverTest {
	s := &takeoverTest{
		clock: &ownershiptest.Clock{}, claim: &ownershiptest.Authority{}, decision: &ownershiptest.Authority{},
		bound: "b", finals: map[int64]bool{},
	}
	s.claim.Set(self)
	s.decision.Set(self)
	s.restart()
	return s
}

func (s *takeoverTest) restart() {
	s.takeover = &ownership.Takeover{
		Owner: "uid-b", Seed: "b", Claim: s.claim, Decision: s.decision, Clock: s.clock, Timing: timing,
		BoundTo:       func(context.Context) (string, error) { return s.bound, nil },
		FinalSnapshot: func(_ context.Context, epoch int64) (bool, error) { return s.finals[epoch], nil },
	}
}

// result of a Run in the background.
type result struct {
	epoch int64
	err   error
}

func (s *takeoverTest) run(ctx context.Context) <-chan result {
	done := make(chan result, 1)
	go func() {
		epoch, err := s.takeover.Run(ctx)
		done <- result{epoch, err}
	}()
	return done
}

// stepUntil moves the clock while the take-over waits, and returns how long that was.
func (s *takeoverTest) stepUntil(t *testing.T, done <-chan result) (result, time.Duration) {
	t.Helper()
	begin := s.clock.Now()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case r := <-done:
			return r, s.clock.Now().Sub(begin)
		case <-time.After(100 * time.Microsecond):
			if s.clock.Waiting() > 0 {
				s.clock.Step(100 * time.Millisecond)
			}
		}
	}
	t.Fatal("the take-over does not end")
	return result{}, 0
}

func TestO5FirstOwnerTakesEpochOneAtOnce(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim, s.decision = &ownershiptest.Authority{}, &ownershiptest.Authority{}
	s.restart()
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 1 || waited != 0 {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
	if diff := cmp.Diff(at(1), s.decision.Record()); diff != "" {
		t.Error(diff)
	}
}

func TestO5TakesTheGreaterEpochPlusOneInBoth(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim.Set(ownership.Record{Owner: "uid-c", Epoch: 8, Seed: "c"}) // a take-over that died half-way
	r, _ := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 9 {
		t.Fatalf("epoch %d: %v", r.epoch, r.err)
	}
	if diff := cmp.Diff([]ownership.Record{at(9), at(9)},
		[]ownership.Record{s.claim.Record(), s.decision.Record()}); diff != "" {
		t.Error(diff)
	}
}

func TestO5WritesTheGardenFirst(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	var gardenAtDecision ownership.Record
	s.decision.BeforeNextWrite(func() { gardenAtDecision = s.claim.Record() })
	if r, _ := s.stepUntil(t, s.run(t.Context())); r.err != nil {
		t.Fatal(r.err)
	}
	if gardenAtDecision != at(4) {
		t.Errorf("when DNS was written the garden said %v", gardenAtDecision)
	}
}

func TestO5WritesNothingIfEitherCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claim", "decision"} {
		s := newTakeoverTest()
		down := map[string]*ownershiptest.Authority{"claim": s.claim, "decision": s.decision}[name]
		down.Down(true)
		_, err := s.takeover.Run(t.Context())
		var unreadable *ownership.UnreadableError
		if !errors.As(err, &unreadable) || unreadable.What != name || !errors.Is(err, ownershiptest.ErrDown) {
			t.Errorf("%s down: %v", name, err)
		}
		if len(s.claim.Writes())+len(s.decision.Writes()) != 0 {
			t.Errorf("%s down: something was written", name)
		}
	}
}

func TestO5RefusesAShootBoundElsewhere(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.bound = "c"
	_, err := s.takeover.Run(t.Context())
	var notBound *ownership.NotBoundError
	if !errors.As(err, &notBound) || notBound.Bound != "c" {
		t.Errorf("error is %v", err)
	}
	if len(s.claim.Writes())+len(s.decision.Writes()) != 0 {
		t.Error("something was written")
	}
}

// meanwhile is an authority that something happens beside when it is read.
type meanwhile struct {
	ownership.Authority
	happens func()
}

func (m meanwhile) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	record, version, err := m.Authority.Read(ctx)
	m.happens()
	return record, version, err
}

// What was bound before the records were read says nothing: whoever the shoot was given to since may have taken it over
// already, and be taken for the owner that is to be replaced.
func TestO5ReadsTheBindingAfterTheRecords(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claim", "decision"} {
		s := newTakeoverTest()
		away := func(a ownership.Authority) ownership.Authority { return meanwhile{a, func() { s.bound = "c" }} }
		if name == "claim" {
			s.takeover.Claim = away(s.claim)
		} else {
			s.takeover.Decision = away(s.decision)
		}
		r, _ := s.stepUntil(t, s.run(t.Context()))
		var notBound *ownership.NotBoundError
		if !errors.As(r.err, &notBound) || notBound.Bound != "c" {
			t.Errorf("given away while the %s is read: epoch %d, %v", name, r.epoch, r.err)
		}
		if len(s.claim.Writes())+len(s.decision.Writes()) != 0 {
			t.Errorf("given away while the %s is read: something was written", name)
		}
	}
}

func TestO5LostAnswerIsResolvedByReading(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim.LoseNextAnswer()
	s.decision.LoseNextAnswer()
	r, _ := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 4 {
		t.Errorf("epoch %d: %v", r.epoch, r.err)
	}
	if len(s.claim.Writes()) != 1 || len(s.decision.Writes()) != 1 {
		t.Errorf("written %v and %v, want once each", s.claim.Writes(), s.decision.Writes())
	}
}

func TestO5FailedCompareBeginsAnewWithANewEpoch(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.decision.BeforeNextWrite(func() { s.decision.Set(ownership.Record{Owner: "uid-c", Epoch: 6, Seed: "c"}) })
	r, _ := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 7 {
		t.Errorf("epoch %d: %v", r.epoch, r.err)
	}
}

func TestO5AuthorityLostHalfWayIsResumedWithTheSameEpoch(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.decision.BeforeNextWrite(func() { s.decision.Down(true) })
	if _, err := s.takeover.Run(t.Context()); !errors.Is(err, ownershiptest.ErrDown) {
		t.Fatalf("error is %v", err)
	}
	s.decision.Down(false)
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 4 || waited < timing.Wait() {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
}

func TestO5ResumedTakeOverAsksForTheBindingAgain(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.decision.BeforeNextWrite(func() { s.decision.Down(true) })
	if _, err := s.takeover.Run(t.Context()); !errors.Is(err, ownershiptest.ErrDown) {
		t.Fatalf("error is %v", err)
	}
	s.decision.Down(false)
	s.bound = "c"
	var notBound *ownership.NotBoundError
	if _, err := s.takeover.Run(t.Context()); !errors.As(err, &notBound) || len(s.decision.Writes()) != 0 {
		t.Errorf("error is %v, DNS got %v", err, s.decision.Writes())
	}
}

func TestO5RestartBeforeTheStartTakesANewEpochAndWaitsAnew(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	ctx, cancel := context.WithCancel(t.Context())
	done := s.run(ctx)
	ownershiptest.Eventually(t, "the wait", func() bool { return s.clock.Waiting() > 0 })
	cancel()
	if r := <-done; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("error is %v", r.err)
	}
	s.restart()
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || r.epoch != 5 || waited < timing.Wait() {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
}

func TestO6WaitsTheTimeoutWithDriftAndOneInterval(t *testing.T) {
	t.Parallel()
	if got := timing.Wait(); got != 6500*time.Millisecond {
		t.Errorf("W is %v, want 6.5 s for 5 s/1 s (docs/ownership.md#spec-9-2-wait)", got)
	}
	if got := ownership.DefaultTiming.Wait(); got != 38*time.Second {
		t.Errorf("W is %v, want 38 s for 30 s/5 s (docs/ownership.md#spec-9-2-wait)", got)
	}
	s := newTakeoverTest()
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || waited < 6500*time.Millisecond || waited > 7*time.Second {
		t.Errorf("waited %v: %v", waited, r.err)
	}
}

func TestO6WaitCountsFromTheKnowledgeOfBothWrites(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.decision.BeforeNextWrite(func() { s.clock.Step(time.Hour) }) // a slow write, long after the garden's
	// The begin is noted before the take-over runs, which may make the slow write at once.
	begin := s.clock.Now()
	s.stepUntil(t, s.run(t.Context()))
	if waited := s.clock.Now().Sub(begin); waited < time.Hour+6500*time.Millisecond {
		t.Errorf("waited %v since the begin", waited)
	}
}

func TestO6FinalSnapshotOfExactlyTheReplacedEpochEndsTheWait(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.finals[3] = true
	if r, waited := s.stepUntil(t, s.run(t.Context())); r.err != nil || waited != 0 {
		t.Errorf("waited %v: %v", waited, r.err)
	}
	other := newTakeoverTest()
	other.finals[2] = true // of an earlier epoch
	if r, waited := other.stepUntil(t, other.run(t.Context())); r.err != nil || waited < 6500*time.Millisecond {
		t.Errorf("waited %v: %v", waited, r.err)
	}
}

// Of a lost seed no final snapshot comes: the bucket is asked often at first, when one is likely, and then less.
func TestO6_SnapshotThatDoesNotCome_IsAskedForLessOften(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	begin, asked, longest, last := s.clock.Now(), 0, time.Duration(0), time.Duration(0)
	s.takeover.FinalSnapshot = func(context.Context, int64) (bool, error) {
		now := s.clock.Now().Sub(begin)
		asked, longest, last = asked+1, max(longest, now-last), now
		return false, nil
	}
	r, waited := s.stepUntil(t, s.run(t.Context()))
	if r.err != nil || waited < timing.Timeout+timing.Interval {
		t.Fatalf("after %v: %v", waited, r.err)
	}
	// The clock steps by 100 ms.
	if asked < 8 || asked > 14 || longest > time.Second+100*time.Millisecond {
		t.Errorf("%d questions in %v, with %v between two", asked, waited, longest)
	}
}

func TestO6BothAreReadAgainAfterTheWait(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	done := s.run(t.Context())
	ownershiptest.Eventually(t, "the wait", func() bool { return s.clock.Waiting() > 0 })
	s.claim.Set(self) // the garden goes back to a backup during the wait
	r, _ := s.stepUntil(t, done)
	if r.err != nil || r.epoch != 5 {
		t.Errorf("epoch %d: %v, want a new one", r.epoch, r.err)
	}
}

func TestO6AnotherOwnerDuringTheWaitIsRespected(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	done := s.run(t.Context())
	ownershiptest.Eventually(t, "the wait", func() bool { return s.clock.Waiting() > 0 })
	later := ownership.Record{Owner: "uid-c", Epoch: 5, Seed: "c"}
	s.bound = "c"
	s.claim.Set(later)
	s.decision.Set(later)
	var notBound *ownership.NotBoundError
	if r, _ := s.stepUntil(t, done); !errors.As(r.err, &notBound) {
		t.Errorf("epoch %d: %v", r.epoch, r.err)
	}
	if s.decision.Record() != later {
		t.Errorf("DNS says %v", s.decision.Record())
	}
}

func TestO9OwnerThatHasStartedNeedsNoNewEpoch(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim.Set(at(4))
	s.decision.Set(at(4))
	s.takeover.Started = 4
	if epoch, err := s.takeover.Run(t.Context()); err != nil || epoch != 4 || len(s.claim.Writes()) != 0 {
		t.Errorf("epoch %d: %v, written %v", epoch, err, s.claim.Writes())
	}
}

func TestO11EpochWithAFinalSnapshotIsOver(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	s.claim.Set(at(4))
	s.decision.Set(at(4))
	s.takeover.Started = 4
	s.finals[4] = true
	if r, waited := s.stepUntil(t, s.run(t.Context())); r.err != nil || r.epoch != 5 || waited != 0 {
		t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
	}
}

// An epoch that was ended is not used again, whether or not a final snapshot was taken of it, or can be seen.
func TestO11EpochThatWasEndedIsOver(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{false, true} {
		s := newTakeoverTest()
		s.finals[3] = true
		r, _ := s.stepUntil(t, s.run(t.Context()))
		if r.err != nil || r.epoch != 4 {
			t.Fatalf("epoch %d: %v", r.epoch, r.err)
		}
		if started {
			s.takeover.Started = 4
		}
		s.takeover.Ended = 3 // that of the owner before: nothing of its own
		if r, _ = s.stepUntil(t, s.run(t.Context())); r.err != nil || r.epoch != 4 {
			t.Errorf("epoch %d: %v", r.epoch, r.err)
		}
		s.takeover.Ended = 4
		r, waited := s.stepUntil(t, s.run(t.Context()))
		if r.err != nil || r.epoch != 5 || waited < timing.Wait() { // what it granted by DNS may last
			t.Errorf("epoch %d after %v: %v", r.epoch, waited, r.err)
		}
	}
}

func TestTakeOverGivesUpAgainstEndlessContention(t *testing.T) {
	t.Parallel()
	s := newTakeoverTest()
	epoch := int64(10)
	var disturb func()
	disturb = func() {
		epoch += 10
		s.claim.Set(ownership.Record{Owner: "uid-c", Epoch: epoch, Seed: "c"})
		s.claim.BeforeNextWrite(disturb)
	}
	s.claim.BeforeNextWrite(disturb)
	var contended *ownership.ContendedError
	if _, err := s.takeover.Run(t.Context()); !errors.As(err, &contended) {
		t.Errorf("error is %v", err)
	}
}
