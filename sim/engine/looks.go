package engine

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Heartbeat is how often the engine says of every probe that it has looked.
const Heartbeat = 5 * time.Second

// looks counts the looks of one probe since it was last said how many there were.
type looks struct {
	probe        string
	done, failed atomic.Int64
	follows      atomic.Bool
}

// ended counts a look, and gives back how it ended.
func (l *looks) ended(err error) error {
	if err != nil {
		l.failed.Add(1)
	}
	l.done.Add(1)
	return err
}

// recordLooks records what was counted since the last time.
func (o *observers) recordLooks(m *member, as timeline.Looked) {
	as.Looks, as.Failed, as.Follows = int(m.looks.done.Swap(0)), int(m.looks.failed.Swap(0)), m.looks.follows.Load()
	o.record.Record(timeline.Event{Subject: m.looks.probe, Payload: as})
}

// beat says of every probe, now and then until stop, that it has looked.
func (o *observers) beat() {
	ctx, cancel := context.WithCancel(context.Background()) // stop ends it
	o.over = cancel
	o.beats.Go(func() {
		ticker := o.clock.NewTicker(Heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
			for _, m := range o.members() {
				o.recordLooks(m, timeline.Looked{})
			}
		}
	})
}

// members of all groups, by the names of their probes.
func (o *observers) members() []*member {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []*member
	for _, g := range o.groups {
		all = append(all, g.members...)
	}
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.looks.probe, b.looks.probe) })
	return all
}
