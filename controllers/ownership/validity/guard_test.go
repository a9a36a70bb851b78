package validity_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

var (
	self   = ownership.Record{Owner: "uid-a", Epoch: 3, Seed: "a"}
	timing = ownership.Timing{Interval: time.Second, Timeout: 5 * time.Second}
)

// bench is a guard with its clock and its memory.
type bench struct {
	*testing.T
	clock    *ownershiptest.Clock
	guard    *validity.Guard
	memory   validity.Memory
	diskFull bool
}

var errDiskFull = errors.New("no space left")

func newBench(t *testing.T, memory validity.Memory) *bench {
	b := &bench{T: t, clock: &ownershiptest.Clock{}}
	b.clock.Step(time.Millisecond) // just booted
	b.restart(memory)
	return b
}

func (b *bench) restart(memory validity.Memory) {
	b.Helper()
	b.memory = memory
	guard, err := validity.NewGuard(validity.GuardOptions{
		Self: self, Timing: timing, Clock: b.clock, Memory: memory,
		Remember: func(m validity.Memory) error {
			if b.diskFull {
				return errDiskFull
			}
			b.memory = m
			return nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.guard = guard
}

// reads observes one read that took the given time.
func (b *bench) reads(source ownership.Source, record ownership.Record, took time.Duration) {
	b.Helper()
	started := b.clock.Now()
	b.clock.Step(took)
	if err := b.guard.Observe(source, validity.Observation{Started: started, Record: record}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) wants(state validity.State, remaining time.Duration) {
	b.Helper()
	if b.guard.State() != state || b.guard.Remaining() != remaining {
		b.Errorf("guard is %s with %v, want %s with %v", b.guard.State(), b.guard.Remaining(), state, remaining)
	}
}

func serving(t *testing.T) *bench {
	b := newBench(t, validity.Memory{})
	b.reads(ownership.Claim, self, 0)
	b.reads(ownership.Decision, self, 0)
	b.wants(validity.Serving, 5*time.Second)
	return b
}

// settled has served for so long that whatever anybody had before it began has lapsed.
func settled(t *testing.T) *bench {
	b := serving(t)
	for range 2 {
		b.clock.Step(3 * time.Second)
		b.reads(ownership.Decision, self, 0)
	}
	return b
}

func at(epoch int64) ownership.Record {
	return ownership.Record{Owner: "uid-b", Epoch: epoch, Seed: "b"}
}

func TestO1ValidityCountsFromTheStartOfTheRead(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(2 * time.Second)
	b.reads(ownership.Claim, self, 800*time.Millisecond)
	b.wants(validity.Serving, 4200*time.Millisecond)
}

func TestO1EitherAuthorityIsEnoughToGoOn(t *testing.T) {
	t.Parallel()
	for _, only := range []ownership.Source{ownership.Claim, ownership.Decision} {
		b := serving(t)
		for range 10 {
			b.clock.Step(4 * time.Second)
			b.reads(only, self, 0)
			b.wants(validity.Serving, 5*time.Second)
		}
	}
}

func TestO1GardenAloneNeverRevives(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(6 * time.Second)
	b.wants(validity.Suspended, 0)
	b.reads(ownership.Claim, self, 0)
	b.wants(validity.Suspended, 0)
	b.reads(ownership.Decision, self, 0)
	b.wants(validity.Serving, 5*time.Second)
}

func TestO1ReadThatOutlivedTheLapseGivesNothing(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(4 * time.Second)
	b.reads(ownership.Claim, self, 2*time.Second) // began valid, answered after the lapse
	b.wants(validity.Suspended, 0)
	b.reads(ownership.Decision, self, 6*time.Second) // older than the timeout
	b.wants(validity.Suspended, 0)
}

func TestO1StartNeedsBothTheGardenFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, validity.Memory{})
	b.reads(ownership.Decision, self, 0)
	b.wants(validity.Starting, 0)

	// A read of DNS that began before the garden's answer does not count either.
	early := validity.Observation{Started: b.clock.Now(), Record: self}
	b.clock.Step(time.Millisecond)
	b.reads(ownership.Claim, self, 0)
	if err := b.guard.Observe(ownership.Decision, early); err != nil {
		t.Fatal(err)
	}
	b.wants(validity.Starting, 0)
	b.reads(ownership.Decision, self, time.Second)
	b.wants(validity.Serving, 4*time.Second)
	if !b.memory.Served {
		t.Error("the guard serves without having written down that it does")
	}
}

func TestO1EpochIsNeverLearntFromARead(t *testing.T) {
	t.Parallel()
	b := newBench(t, validity.Memory{})
	b.reads(ownership.Claim, ownership.Record{Owner: self.Owner, Epoch: 2, Seed: "a"}, 0)
	b.reads(ownership.Decision, ownership.Record{Owner: self.Owner, Epoch: 2, Seed: "a"}, 0)
	b.wants(validity.Starting, 0)
}

func TestO2PauseOfAnyLengthCounts(t *testing.T) {
	t.Parallel()
	b := serving(t)
	term := b.guard.Term()
	b.clock.Step(time.Hour)
	if term.Valid() {
		t.Error("the term survived a pause longer than itself")
	}
}

func TestO3OnlyAHigherEpochInDNSFences(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		source ownership.Source
		record ownership.Record
		want   validity.State
	}{
		"higher in DNS":        {ownership.Decision, at(4), validity.Fenced},
		"higher in the garden": {ownership.Claim, at(4), validity.Serving},
		"lower in DNS":         {ownership.Decision, at(2), validity.Serving},
		"lower in the garden":  {ownership.Claim, at(2), validity.Serving},
		"absent in the garden": {ownership.Claim, ownership.Record{}, validity.Serving},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serving(t)
			b.clock.Step(time.Second)
			b.reads(tc.source, tc.record, 0)
			if got := b.guard.State(); got != tc.want {
				t.Fatalf("guard is %s, want %s", got, tc.want)
			}
			if tc.want == validity.Serving {
				b.wants(validity.Serving, 4*time.Second) // and it did not renew
			}
		})
	}
}

func TestO3FenceSurvivesARestartAndNeverServesAgain(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.reads(ownership.Decision, at(4), 0)
	b.restart(b.memory)
	b.wants(validity.Fenced, 0)
	b.reads(ownership.Claim, self, 0)
	b.reads(ownership.Decision, self, 0)
	b.wants(validity.Fenced, 0)
	if b.memory.Fence == nil || b.memory.Fence.By != at(4) {
		t.Errorf("the fence on disk is %+v", b.memory.Fence)
	}
}

func TestO3FenceOnAFullDiskPassesNothingAndIsWrittenLater(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.diskFull = true
	err := b.guard.Observe(ownership.Decision, validity.Observation{Started: b.clock.Now(), Record: at(4)})
	if !errors.Is(err, errDiskFull) {
		t.Errorf("error is %v, want that of the disk", err)
	}
	b.wants(validity.Fenced, 0)
	if err := b.guard.Revoked(); !errors.Is(err, errDiskFull) {
		t.Errorf("the fence went on without being on disk: %v", err)
	}
	b.diskFull = false
	if err := b.guard.Record(); err != nil || b.memory.Fence == nil {
		t.Errorf("the fence was not written: %v", err)
	}
}

func TestO3FenceWaitsForWhatWasGranted(t *testing.T) {
	t.Parallel()
	b := serving(t)
	for _, holder := range []string{"gateway", "machine-controller", ""} {
		if _, err := b.guard.Grant(one(holder)); err != nil {
			t.Fatal(err)
		}
	}
	b.guard.Confirm(one("gateway")) // before the fence this means nothing: it may ask again
	b.reads(ownership.Decision, at(4), 0)
	if _, err := b.guard.Grant(one("gateway")); !errors.Is(err, validity.ErrFenced) {
		t.Errorf("a fenced guard answered a holder: %v", err)
	}
	b.guard.Confirm(one("gateway"))
	b.guard.Confirm(one("machine-controller"))
	b.guard.Confirm(one("")) // nobody can speak for the anonymous
	if got := b.guard.RevocationRemaining(); got != 5500*time.Millisecond {
		t.Errorf("wait for the anonymous holder is %v, want its 5 s and 10 %%", got)
	}
	b.clock.Step(5500 * time.Millisecond)
	if got := b.guard.RevocationRemaining(); got > 0 {
		t.Errorf("%v to wait after everything has lapsed", got)
	}
}

func TestO3FenceWaitsForNobodyWhenAllHaveConfirmed(t *testing.T) {
	t.Parallel()
	b := settled(t)
	if _, err := b.guard.Grant(one("gateway")); err != nil {
		t.Fatal(err)
	}
	b.reads(ownership.Decision, at(4), 0)
	b.guard.Confirm(one("gateway"))
	if got := b.guard.RevocationRemaining(); got > 0 {
		t.Errorf("%v to wait although the only holder has confirmed", got)
	}
}

func TestO3FenceWaitsForNobodyWhoHasLeftBefore(t *testing.T) {
	t.Parallel()
	b := settled(t)
	for _, holder := range []string{"machine-controller", ""} {
		if _, err := b.guard.Grant(one(holder)); err != nil {
			t.Fatal(err)
		}
		b.guard.Left(one(holder))
	}
	b.reads(ownership.Decision, at(4), 0)
	if got := b.guard.RevocationRemaining(); got != 5500*time.Millisecond {
		t.Errorf("wait is %v, want that of the anonymous holder, for whom nobody can speak", got)
	}
	other := settled(t)
	if _, err := other.guard.Grant(one("machine-controller")); err != nil {
		t.Fatal(err)
	}
	other.guard.Left(one("machine-controller"))
	other.reads(ownership.Decision, at(4), 0)
	if got := other.guard.RevocationRemaining(); got > 0 {
		t.Errorf("%v to wait although the only holder has left", got)
	}
}

// Before there was a guard, controllers have read DNS by themselves: a read that was sent as the guard began gives
// validity for 5 s on a clock that may be 10 % slow (docs/adr/0013).
func TestO3FenceWaitsForWhoReadDNSBeforeTheGuardBegan(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(2 * time.Second)
	b.reads(ownership.Decision, at(4), 0)
	if got := b.guard.RevocationRemaining(); got != 3500*time.Millisecond {
		t.Errorf("the fence of a guard that began 2 s ago waits %v, want 3.5 s", got)
	}
	own := serving(t)
	if err := own.guard.Fence(); err != nil {
		t.Fatal(err)
	}
	if got := own.guard.RevocationRemaining(); got > 0 {
		t.Errorf("who ends its epoch by itself, after every holder has released the shoot, waits %v", got)
	}
}

func TestO3RestartForgetsWhoWasGrantedSoItWaitsTheBound(t *testing.T) {
	t.Parallel()
	b := serving(t)
	if _, err := b.guard.Grant(one("gateway")); err != nil {
		t.Fatal(err)
	}
	b.restart(b.memory)
	b.reads(ownership.Decision, at(4), 0)
	b.guard.Confirm(one("gateway"))
	if got := b.guard.RevocationRemaining(); got != 5500*time.Millisecond {
		t.Errorf("wait is %v, want the bound", got)
	}
}

func TestO3OwnerHealsTheClaimOnlyWhileDNSNamesIt(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.reads(ownership.Claim, at(2), 0)
	if record, ok := b.guard.Heal(ownership.Claim); !ok || record != self {
		t.Errorf("the owner named by DNS does not heal: %v, %v", record, ok)
	}
	b.reads(ownership.Claim, at(4), 0)
	if _, ok := b.guard.Heal(ownership.Claim); ok {
		t.Error("the owner heals downwards")
	}
	b.reads(ownership.Claim, self, 0)
	if _, ok := b.guard.Heal(ownership.Claim); ok {
		t.Error("the owner heals its own claim")
	}
	// DNS has decided this number: what another has claimed by it is void.
	b.reads(ownership.Claim, ownership.Record{Owner: "another", Epoch: self.Epoch, Seed: "c"}, 0)
	if record, ok := b.guard.Heal(ownership.Claim); !ok || record != self {
		t.Errorf("another's claim of the owner's number is left: %v, %v", record, ok)
	}
	// DNS is silent, the garden keeps the guard valid, then the garden goes back in time.
	for range 2 {
		b.clock.Step(4 * time.Second)
		b.reads(ownership.Claim, self, 0)
	}
	b.reads(ownership.Claim, at(2), 0)
	if _, ok := b.guard.Heal(ownership.Claim); ok || b.guard.State() != validity.Serving {
		t.Errorf("a %s guard that DNS has not named for long heals: %v", b.guard.State(), ok)
	}
}

func TestO4LapsedGuardNeverEndsItsEpoch(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(6 * time.Second)
	if err := b.guard.Fence(); !errors.Is(err, validity.ErrNotServing) {
		t.Errorf("a suspended guard fenced itself: %v", err)
	}
	b.wants(validity.Suspended, 0)
}

func TestO11OwnerEndsItsEpochByItsOwnDecision(t *testing.T) {
	t.Parallel()
	b := serving(t)
	term := b.guard.Term()
	if err := b.guard.Fence(); err != nil {
		t.Fatal(err)
	}
	if err := b.guard.Fence(); err != nil {
		t.Errorf("repeating the decision fails: %v", err)
	}
	if term.Valid() || b.memory.Fence == nil || !b.memory.Fence.By.Absent() {
		t.Errorf("after its decision: valid %v, fence %+v", term.Valid(), b.memory.Fence)
	}
	b.reads(ownership.Decision, self, 0)
	b.wants(validity.Fenced, 0)
}

func TestRestartFindsItsUnexpiredValidityWithinTheSameBoot(t *testing.T) {
	t.Parallel()
	b := serving(t)
	b.clock.Step(2 * time.Second)
	b.restart(b.memory)
	b.wants(validity.Serving, 3*time.Second)

	b.clock.Reboot()
	b.restart(b.memory)
	b.wants(validity.Suspended, 0)

	other := b.memory
	other.Epoch = 2
	b.restart(other)
	b.wants(validity.Starting, 0)
}

func TestMemoryThatCannotBeWrittenGivesNoValidity(t *testing.T) {
	t.Parallel()
	b := newBench(t, validity.Memory{})
	b.diskFull = true
	b.reads(ownership.Claim, self, 0)
	err := b.guard.Observe(ownership.Decision, validity.Observation{Started: b.clock.Now(), Record: self})
	if !errors.Is(err, errDiskFull) {
		t.Errorf("error is %v, want that of the disk", err)
	}
	b.wants(validity.Starting, 0)
}

func TestO9LosingOneAuthorityStopsNobodyLosingBothSuspends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t)
		f.wants(validity.Serving)
		term := f.guard.Term()

		for _, lost := range []*counted{f.claim, f.decision} {
			lost.Down(true)
			f.pass(2 * timing.Timeout)
			if !term.Valid() {
				t.Error("losing one authority ended the term")
			}
			lost.Down(false)
			f.pass(2 * timing.Interval)
		}
		f.claim.Down(true)
		f.decision.Down(true)
		f.pass(timing.Timeout)
		f.wants(validity.Suspended)
		f.claim.Down(false)
		f.decision.Down(false)
		f.pass(timing.Interval)
		f.wants(validity.Serving)

		// A garden restored from a backup is healed by the owner. One that goes back to a take-over which came to nothing
		// does not cost the owner one of its two authorities.
		for _, back := range []ownership.Record{at(1), {Owner: "another", Epoch: self.Epoch, Seed: "c"}} {
			f.claim.Set(back)
			f.pass(2 * timing.Interval)
			if record := f.claim.Record(); record != self {
				t.Errorf("the claim %v has become %v, want it healed", back, record)
			}
		}
		f.decision.Down(true)
		term = f.guard.Term()
		f.pass(2 * timing.Timeout)
		if !term.Valid() {
			t.Error("losing DNS ended the term although the garden was healed")
		}
	})
}

// How often the authorities are read, and how much validity is left at least, in the minute after a guard serves.
func TestO1ConfirmedGuardReadsOneAuthorityInEachInterval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timing           ownership.Timing
		began            time.Duration // after the clock did
		lose             func(*following)
		claim, decision  int64
		left             time.Duration
		stateAfterMinute validity.State
	}{
		"confirmed": {
			timing: timing, claim: 30, decision: 30, left: 4 * time.Second, stateAfterMinute: validity.Serving,
		},
		"confirmed, in the midst of a turn": {
			timing: timing, began: 700 * time.Millisecond, claim: 30, decision: 30, left: 4 * time.Second,
			stateAfterMinute: validity.Serving,
		},
		"defaults": {
			timing: ownership.DefaultTiming, claim: 6, decision: 6, left: 25 * time.Second,
			stateAfterMinute: validity.Serving,
		},
		"the other would come too late": {
			timing: ownership.Timing{Interval: time.Second, Timeout: 4 * time.Second}, claim: 60, decision: 60,
			left: 3 * time.Second, stateAfterMinute: validity.Serving,
		},
		"no garden": {
			timing: timing, lose: func(f *following) { f.claim.Down(true) }, claim: 60, decision: 60, left: 3 * time.Second,
			stateAfterMinute: validity.Serving,
		},
		"no DNS": {
			timing: timing, lose: func(f *following) { f.decision.Down(true) }, claim: 60, decision: 60,
			left: 3 * time.Second, stateAfterMinute: validity.Serving,
		},
		"DNS names another": {
			timing: timing, lose: func(f *following) { f.decision.Set(at(4)) }, claim: 1, decision: 1,
			stateAfterMinute: validity.Fenced,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := followBy(t, c.timing, c.began)
				f.pass(2 * c.timing.Interval)
				f.wants(validity.Serving)
				if c.lose != nil {
					c.lose(f)
				}
				claims, decisions, least := f.claim.reads.Load(), f.decision.reads.Load(), c.timing.Timeout
				for range 600 {
					f.pass(time.Minute / 600)
					least = min(least, f.guard.Remaining())
				}
				claims, decisions = f.claim.reads.Load()-claims, f.decision.reads.Load()-decisions
				// The first turns may come a little earlier or later.
				if off := max(claims-c.claim, c.claim-claims, decisions-c.decision, c.decision-decisions); off > 1 {
					t.Errorf("%d reads of the claim and %d of the decision in a minute, want %d and %d", claims, decisions,
						c.claim, c.decision)
				}
				if least < c.left {
					t.Errorf("only %v of validity were left, want %v", least, c.left)
				}
				f.wants(c.stateAfterMinute)
			})
		})
	}
}

// counted is an authority that counts how often it was read.
type counted struct {
	ownershiptest.Authority
	reads atomic.Int64
}

func (c *counted) Read(ctx context.Context) (ownership.Record, ownership.Version, error) {
	defer c.reads.Add(1)
	return c.Authority.Read(ctx)
}

// following is a guard that follows both authorities, in a bubble of testing/synctest.
type following struct {
	*testing.T
	guard           *validity.Guard
	claim, decision *counted
}

func follow(t *testing.T) *following {
	t.Helper()
	return followBy(t, timing, 0)
}

// followBy returns a guard whose authorities name it when it has followed them for a while.
func followBy(t *testing.T, timing ownership.Timing, while time.Duration) *following {
	t.Helper()
	f := &following{T: t, claim: &counted{}, decision: &counted{}}
	var err error
	f.guard, err = validity.NewGuard(validity.GuardOptions{Self: self, Timing: timing, Clock: ownershiptest.NewTime(),
		Remember: func(validity.Memory) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		synctest.Wait()
		f.guard.Term().End() // its watch belongs to the bubble
	})
	go f.guard.Follow(ctx, ownership.Claim, f.claim, testr.New(t))
	go f.guard.Follow(ctx, ownership.Decision, f.decision, testr.New(t))
	f.pass(while)
	f.claim.Set(self)
	f.decision.Set(self)
	f.pass(timing.Interval)
	return f
}

// pass lets time pass.
func (f *following) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (f *following) wants(state validity.State) {
	f.Helper()
	if got := f.guard.State(); got != state {
		f.Errorf("guard is %s, want %s", got, state)
	}
}
