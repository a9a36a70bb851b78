package validity

import (
	"fmt"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Fence ends the epoch by the owner's own decision: the last step of a planned migration, or of anything else that
// wants a final snapshot (docs/ownership.md#o11). Only a valid guard may; repeating it is harmless.
func (g *Guard) Fence() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.Fence != nil {
		return nil
	}
	if !g.term.Valid() {
		return ErrNotServing
	}
	return g.fenceLocked(Fence{})
}

// fenceLocked passes nothing from now on, and writes that down. If it cannot be written, the guard stays fenced in
// memory and Record tries again; nothing further is done before it is on disk (docs/ownership.md#o3-1).
func (g *Guard) fenceLocked(fence Fence) error {
	g.term.End()
	if !fence.By.Absent() {
		// Before there was a guard, holders may have read the decision by themselves (docs/adr/0013). Who ends its epoch by
		// its own decision has had all holders release the shoot before.
		g.grants.add(HolderName{}, g.began.Add(ownership.WithDrift(g.timing.Timeout)), g.clock.Now())
	}
	g.memory.Fence = &fence
	g.notifyLocked()
	if err := g.remember(g.memoryLocked()); err != nil {
		return fmt.Errorf("record the fence of epoch %d: %w", g.self.Epoch, err)
	}
	return nil
}

// Record writes the fence to disk again and returns whether that succeeded. It does nothing without a fence.
func (g *Guard) Record() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.Fence == nil {
		return nil
	}
	return g.remember(g.memoryLocked())
}

// Grant answers a holder that asks: the remaining time, to be added to the holder's own clock as it was before it
// asked. A holder without an instance cannot confirm a revocation, so a fence waits for its grant to lapse.
func (g *Guard) Grant(holder HolderName) (Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.Fence != nil {
		return Grant{}, ErrFenced
	}
	remaining := g.term.Remaining()
	if remaining <= 0 {
		return Grant{}, ErrLapsed
	}
	now := g.clock.Now()
	g.grants.add(holder, now.Add(ownership.WithDrift(remaining)), now)
	return Grant{Owner: g.self.Owner, Epoch: g.self.Epoch, Remaining: remaining, BootID: g.clock.BootID()}, nil
}

// Confirm notes that a holder has given up what it was granted (docs/ownership.md#o3-3). Only a fenced guard listens:
// before the fence the holder could ask again.
func (g *Guard) Confirm(holder HolderName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.Fence != nil && g.grants.confirm(holder) {
		g.notifyLocked()
	}
}

// Left notes that a holder has ended for good: nobody has to wait for what it was granted. A question of it that was
// still on its way counts as a new grant, which nobody uses.
func (g *Guard) Left(holder HolderName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.grants.confirm(holder) {
		g.notifyLocked()
	}
}

// RevocationRemaining is how long to wait at most until no holder can be valid any more; zero or less means that
// nobody is. Only meaningful after a fence.
func (g *Guard) RevocationRemaining() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.grants.last().Sub(g.clock.Now())
}

// RevocationPending names the holders that have not given up yet.
func (g *Guard) RevocationPending() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.grants.pending(g.clock.Now())
}

// Revoked writes down that step (3) is over: no holder is valid, so a final snapshot may be taken.
func (g *Guard) Revoked() error { return g.advance(func(f *Fence) { f.Revoked = true }) }

// Finished writes down that the final snapshot is in the bucket, or that none is due.
func (g *Guard) Finished() error { return g.advance(func(f *Fence) { f.Finished = true }) }

func (g *Guard) advance(step func(*Fence)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.memory.Fence == nil {
		return fmt.Errorf("advance the fence of epoch %d: there is none", g.self.Epoch)
	}
	m := g.memoryLocked()
	step(m.Fence)
	if err := g.remember(m); err != nil {
		return fmt.Errorf("record the fence of epoch %d: %w", g.self.Epoch, err)
	}
	g.memory = m
	g.notifyLocked()
	return nil
}
