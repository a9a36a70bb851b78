package validity

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Follow reads one authority every interval, each read with a deadline below it, and informs the guard, until ctx is
// done (docs/ownership.md#o1). Run it once for each authority, concurrently. Where the owner finds the claim behind, it
// heals it (docs/ownership.md#o3).
func (g *Guard) Follow(ctx context.Context, source ownership.Source, authority ownership.Authority, log logr.Logger) {
	log = log.WithValues("authority", source)
	for ctx.Err() == nil {
		changed := g.Changed()
		if g.State() != Starting {
			changed = nil
		}
		started := g.clock.Now()
		g.Look(ctx, source, authority, log)
		pause := g.timing.Interval - g.clock.Now().Sub(started)
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
