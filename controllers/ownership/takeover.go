package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// takeoverRounds bounds how often one Run begins anew.
const takeoverRounds = 5

// finalPoll is how often the wait looks for the final snapshot of the replaced epoch at first.
const finalPoll = 200 * time.Millisecond

// nextPoll is the pause after a look that found none: half of the wait so far, to a second. A guard that lives ends its
// epoch soon.
func nextPoll(waited time.Duration) time.Duration { return min(max(finalPoll, waited/2), time.Second) }

// UnreadableError says that an authority (or the shoot's spec) could not be read, so that nothing further was written.
type UnreadableError struct {
	What string
	Err  error
}

func (e *UnreadableError) Error() string { return fmt.Sprintf("read the %s: %v", e.What, e.Err) }

// Unwrap gives the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }

// UnwrittenError says that a compare-and-set has neither surely happened nor surely not. Run again resolves it.
type UnwrittenError struct {
	What Source
	Err  error
}

func (e *UnwrittenError) Error() string { return fmt.Sprintf("write the %s: %v", e.What, e.Err) }

// Unwrap gives the cause.
func (e *UnwrittenError) Unwrap() error { return e.Err }

// NotBoundError says that the garden gives the shoot to somebody else: this seed must not take it over.
type NotBoundError struct{ Seed, Bound string }

func (e *NotBoundError) Error() string {
	return fmt.Sprintf("take over the shoot: it is bound to seed %q, not to %q", e.Bound, e.Seed)
}

// ContendedError says that the records changed under every attempt.
type ContendedError struct{ Rounds int }

func (e *ContendedError) Error() string {
	return fmt.Sprintf("take over the shoot: the ownership records changed in each of %d rounds", e.Rounds)
}

// Takeover is what a new owner does before anything else (docs/ownership.md#o5, docs/ownership.md#o6). It remembers how
// far it has come, so that Run may be called again after an error; a new process begins anew with a new epoch.
type Takeover struct {
	// Owner and Seed are the UID and name of the seed that takes over.
	Owner, Seed string
	// Claim and Decision are the two authorities.
	Claim, Decision Authority
	Clock           Clock
	Timing          Timing
	// BoundTo reads whom the garden gives the shoot to, uncached.
	BoundTo func(context.Context) (string, error)
	// FinalSnapshot reports whether the final snapshot of exactly this epoch is in the bucket. An error counts as no, and
	// so does silence: the wait then goes on to its end.
	FinalSnapshot func(ctx context.Context, epoch int64) (bool, error)
	// Started is the epoch that this seed has started and not fenced (0: none). While DNS names it, Run returns it and
	// writes nothing.
	Started int64
	// Ended is the last epoch that this seed has ended by its own decision (0: none): none up to it is run, or returned,
	// again. Its final snapshot need not be there, or to be seen.
	Ended int64

	taken   int64 // the epoch that Run returned last: it may be asked again before that epoch has started
	pending *pending
}

// pending is a claim under way.
type pending struct {
	record           Record
	claim, decision  Version
	replaced         int64 // the epoch that the write to DNS replaces; 0 if nobody can be running it
	claimed, decided bool
	known            Instant // when both writes were known to be done
	waited           bool
}

// Run takes the shoot over and returns its epoch. When it returns without an error, both records have named this owner
// and epoch after the wait was over, and etcd may be restored and started.
func (t *Takeover) Run(ctx context.Context) (int64, error) {
	if t.pending != nil {
		if err := t.bound(ctx); err != nil {
			return 0, err
		}
	}
	for range takeoverRounds {
		epoch, err := t.round(ctx)
		if err == nil {
			return epoch, nil
		}
		if !errors.Is(err, ErrConflict) {
			return 0, err
		}
		t.pending = nil
	}
	return 0, &ContendedError{Rounds: takeoverRounds}
}

// round is one pass through take-over and wait. ErrConflict means: begin anew.
func (t *Takeover) round(ctx context.Context) (int64, error) {
	if t.pending == nil {
		started, err := t.begin(ctx)
		if err != nil || started != 0 {
			return started, err
		}
	}
	p := t.pending
	if err := t.write(ctx, Claim, t.Claim, p.claim, &p.claimed); err != nil {
		return 0, err
	}
	if err := t.write(ctx, Decision, t.Decision, p.decision, &p.decided); err != nil {
		return 0, err
	}
	if err := t.wait(ctx); err != nil {
		return 0, err
	}
	if err := t.readAgain(ctx); err != nil {
		return 0, err
	}
	t.pending, t.taken = nil, p.record.Epoch
	return t.taken, nil
}

// begin reads both authorities and then the binding, and chooses the new epoch.
func (t *Takeover) begin(ctx context.Context) (started int64, err error) {
	claim, claimVersion, err := t.read(ctx, t.Claim)
	if err != nil {
		return 0, &UnreadableError{What: string(Claim), Err: err}
	}
	decision, decisionVersion, err := t.read(ctx, t.Decision)
	if err != nil {
		return 0, &UnreadableError{What: string(Decision), Err: err}
	}
	if err := t.bound(ctx); err != nil {
		return 0, err
	}
	began := t.Started > 0 && decision.Names(t.Owner, t.Started)
	// A start needs both (docs/ownership.md#o1).
	won := t.taken > 0 && decision.Names(t.Owner, t.taken) && claim.Names(t.Owner, t.taken)
	if (began || won) && decision.Epoch > t.Ended && !t.final(ctx, decision.Epoch, t.Timing.callDeadline()) {
		return decision.Epoch, nil
	}
	t.pending = &pending{
		record:   Record{Owner: t.Owner, Seed: t.Seed, Epoch: max(claim.Epoch, decision.Epoch) + 1},
		claim:    claimVersion,
		decision: decisionVersion,
		replaced: decision.Epoch,
	}
	if decision.Retired() {
		t.pending.replaced = 0 // whoever retired it had ended its epoch before
	}
	return 0, nil
}

// read asks an authority, as long as it may take: who accepts a question and never answers is as good as one that is
// away.
func (t *Takeover) read(ctx context.Context, authority Authority) (Record, Version, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timing.callDeadline())
	defer cancel()
	return authority.Read(ctx)
}

func (t *Takeover) bound(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timing.callDeadline())
	defer cancel()
	seed, err := t.BoundTo(ctx)
	if err != nil {
		return &UnreadableError{What: "shoot's binding", Err: err}
	}
	if seed != t.Seed {
		t.pending = nil
		return &NotBoundError{Seed: t.Seed, Bound: seed}
	}
	return nil
}

// write sets one record against the version read in begin. An answer that is lost, or does not come in time, is
// resolved by reading.
func (t *Takeover) write(ctx context.Context, what Source, authority Authority, old Version, done *bool) error {
	if *done {
		return nil
	}
	writeErr := t.compareAndSet(ctx, authority, old)
	if writeErr != nil {
		record, version, err := t.read(ctx, authority)
		switch {
		case err != nil:
			return &UnreadableError{What: string(what), Err: errors.Join(err, writeErr)}
		case record == t.pending.record:
		case version != old:
			return ErrConflict
		case errors.Is(writeErr, ErrConflict):
			return ErrConflict
		default:
			return &UnwrittenError{What: what, Err: writeErr}
		}
	}
	*done = true
	if what == Decision {
		t.pending.known = t.Clock.Now()
	}
	return nil
}

func (t *Takeover) compareAndSet(ctx context.Context, authority Authority, old Version) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timing.callDeadline())
	defer cancel()
	return authority.CompareAndSet(ctx, old, t.pending.record)
}

// wait lasts until the final snapshot of exactly the replaced epoch is there, or W has passed. Where DNS had no
// record, or that of a deleted shoot, nobody can be running, and there is nobody to wait for.
func (t *Takeover) wait(ctx context.Context) error {
	p := t.pending
	left := func() time.Duration { return t.Timing.Wait() - t.Clock.Now().Sub(p.known) }
	for !p.waited {
		// Who does not answer soon is asked again, and nobody holds the wait up beyond its end.
		if p.replaced == 0 || left() <= 0 || t.final(ctx, p.replaced, min(left(), t.Timing.ReadDeadline())) {
			p.waited = true
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of epoch %d, at most %v more: %w", p.replaced, left(), context.Cause(ctx))
		case <-t.Clock.After(min(left(), nextPoll(t.Clock.Now().Sub(p.known)))):
		}
	}
	return nil
}

func (t *Takeover) final(ctx context.Context, epoch int64, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	present, err := t.FinalSnapshot(ctx, epoch)
	return err == nil && present
}

// readAgain reads both authorities after the wait, the garden first (docs/ownership.md#o1). If one no longer names this
// claim, the claim is void.
func (t *Takeover) readAgain(ctx context.Context) error {
	for _, a := range []struct {
		what      Source
		authority Authority
	}{{Claim, t.Claim}, {Decision, t.Decision}} {
		record, _, err := t.read(ctx, a.authority)
		if err != nil {
			return &UnreadableError{What: string(a.what), Err: err}
		}
		if !record.Names(t.Owner, t.pending.record.Epoch) {
			return ErrConflict
		}
	}
	return nil
}
