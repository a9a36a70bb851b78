package validity

import (
	"fmt"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Observe takes in the outcome of one read. The error is of the guard's own memory: the read then gave nothing.
func (g *Guard) Observe(source ownership.Source, o Observation) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[source] = o
	switch {
	case g.memory.Fence != nil || o.Err != nil:
		return nil
	case source == ownership.Decision && o.Record.Epoch > g.self.Epoch:
		return g.fenceLocked(Fence{By: o.Record})
	case !o.Record.Names(g.self.Owner, g.self.Epoch):
		// A lower epoch counts as unreachable; a higher one in the garden alone neither renews nor fences
		// (docs/ownership.md#o3).
		return nil
	case source == ownership.Decision:
		g.byDecision = max(g.byDecision, o.Started.Add(g.timing.Timeout))
	}
	if !g.memory.Served {
		return g.startLocked(source, o)
	}
	return g.renewLocked(source, o)
}

// startLocked is the rule for an epoch that has never answered (docs/ownership.md#o1): the garden names it, and then,
// in a read that began after that answer, DNS does.
func (g *Guard) startLocked(source ownership.Source, o Observation) error {
	now := g.clock.Now()
	if source == ownership.Claim {
		if !g.claimIsSeen {
			g.notifyLocked()
		}
		g.claimed, g.claimIsSeen = now, true
		return nil
	}
	if !g.claimIsSeen || o.Started < g.claimed || now.Sub(g.claimed) > g.timing.Timeout {
		return nil
	}
	return g.renewLocked(source, o)
}

// renewLocked extends the validity, or begins a new one where DNS names the guard. What begins is written down first;
// an extension takes effect first, so that a lapse in between leaves no validity behind that a restart would find.
func (g *Guard) renewLocked(source ownership.Source, o Observation) error {
	until := o.Started.Add(g.timing.Timeout)
	if until.Sub(g.clock.Now()) <= 0 || until <= g.term.Until() {
		return nil
	}
	m := g.memoryLocked()
	m.Served, m.BootID, m.Until = true, g.clock.BootID(), until
	if g.term.Extend(until) {
		return g.rememberLocked(m)
	}
	if source != ownership.Decision {
		return nil // the garden alone never revives
	}
	if err := g.rememberLocked(m); err != nil {
		return err
	}
	g.term = NewTerm(g.clock, g.self.Epoch, until)
	g.notifyLocked()
	return nil
}

func (g *Guard) rememberLocked(m Memory) error {
	if err := g.remember(m); err != nil {
		return fmt.Errorf("remember the validity of epoch %d: %w", g.self.Epoch, err)
	}
	g.memory = m
	return nil
}

// Heal returns the record the guard should compare-and-set into an authority it has just seen to be behind, and
// whether it should: only the owner that is valid and named by DNS does, and only upwards (docs/ownership.md#o3). DNS
// never goes back (docs/ownership.md#assumption-a3), so in practice it is the garden that is healed. A claim of the
// guard's own number that names another is behind too: DNS has decided that number, so it can come to nothing any more
// (docs/adr/0006).
func (g *Guard) Heal(source ownership.Source) (ownership.Record, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen, ok := g.seen[source]
	if !ok || seen.Err != nil || source == ownership.Decision || seen.Record.Epoch > g.self.Epoch ||
		seen.Record.Names(g.self.Owner, g.self.Epoch) {
		return ownership.Record{}, false
	}
	named := g.byDecision.Sub(g.clock.Now()) > 0
	return g.self, named && g.stateLocked() == Serving
}
