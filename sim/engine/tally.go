package engine

import (
	"context"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Journal is the record of a run.
type Journal interface {
	timeline.Recorder
	Started() time.Time
	Events() []timeline.Event
	Follow(ctx context.Context) iter.Seq[timeline.Event]
}

// tally counts events by kind as it passes them on, so that a journal that loses events is found out.
type tally struct {
	Journal

	mu       sync.Mutex
	recorded map[timeline.Kind]int
}

var _ timeline.Recorder = &tally{}

func newTally(j Journal) *tally { return &tally{Journal: j, recorded: map[timeline.Kind]int{}} }

// Record counts the event and passes it on.
func (t *tally) Record(e timeline.Event) {
	t.mu.Lock()
	t.recorded[e.Payload.Kind()]++
	t.mu.Unlock()
	t.Journal.Record(e)
}

// counts are how many events of each kind have been recorded so far.
func (t *tally) counts() map[timeline.Kind]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.recorded)
}
