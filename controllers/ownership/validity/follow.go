package validity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Follow reads one authority, each read with a deadline below the interval, and informs the guard, until the guard is
// fenced or ctx is done (docs/ownership.md#o1). It reads in every interval, or in every second one while the guard is
// confirmed. Run it once for each authority, concurrently. Where the owner finds the claim behind, it heals it
// (docs/ownership.md#o3).
func (g *Guard) Follow(ctx context.Context, source ownership.Source, authority ownership.Authority, log logr.Logger) {
	log = log.WithValues("authority", source)
	for ctx.Err() == nil && g.State() != Fenced {
		changed := g.Changed()
		if g.State() != Starting {
			changed = nil
		}
		started := g.clock.Now()
		g.Look(ctx, source, authority, log)
		pause := g.untilNext(source, started) - g.clock.Now().Sub(started)
		if pause <= 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-g.clock.After(pause):
		case <-changed: // the claim has been seen: DNS can give the start now
		}
	}
}

// untilNext is the time from the start of one read of an authority to that of the next. A confirmed guard reads one
// authority in each interval, in turn, so that its validity is extended as often as if it read both (docs/adr/0024).
// The turns count from when the guard began: guards of one seed do not read at the same moment.
func (g *Guard) untilNext(source ownership.Source, started ownership.Instant) time.Duration {
	interval := g.timing.Interval
	if !g.confirmed() {
		return interval
	}
	turn := started.Sub(g.began) + interval/8 // a timer that fires early has not missed its turn
	if source == ownership.Claim {
		turn += interval
	}
	return 2*interval + interval/8 - turn%(2*interval)
}

// confirmed reports whether each authority named the guard when it was read last, and the guard serves. One of them may
// then be left out in an interval, if after that more than half of the validity is left for the other.
func (g *Guard) confirmed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, source := range []ownership.Source{ownership.Claim, ownership.Decision} {
		if o, seen := g.seen[source]; !seen || o.Err != nil || !o.Record.Names(g.self.Owner, g.self.Epoch) {
			return false
		}
	}
	return g.timing.Timeout >= 5*g.timing.Interval && g.stateLocked() == Serving
}

// Look reads an authority once, with a deadline below the interval, and informs the guard (docs/ownership.md#o1).
func (g *Guard) Look(ctx context.Context, source ownership.Source, authority ownership.Authority, log logr.Logger) {
	ctx, cancel := context.WithTimeout(ctx, g.timing.ReadDeadline())
	defer cancel()
	o := Observation{Started: g.clock.Now()}
	before, known := g.Seen(source)
	var version ownership.Version
	o.Record, version, o.Err = authority.Read(ctx)
	if err := g.Observe(source, o); err != nil {
		log.Error(err, "An observation of an ownership record gave nothing")
	}
	if !known || (o.Err == nil) != (before.Err == nil) || o.Record != before.Record {
		log.Info("Ownership record seen", "record", recordText(o), "state", g.State())
	}
	record, heal := g.Heal(source)
	if !heal {
		return
	}
	err := authority.CompareAndSet(ctx, version, record)
	if err != nil && !errors.Is(err, ownership.ErrConflict) {
		log.Error(fmt.Errorf("heal the ownership record: %w", err), "The claim stays behind", "record", record.String())
		return
	}
	log.Info("Ownership claim was behind and has been healed", "record", record.String(), "lostTheRace", err != nil)
}

func recordText(o Observation) string {
	if o.Err != nil {
		return "unreadable: " + o.Err.Error()
	}
	return o.Record.String()
}
