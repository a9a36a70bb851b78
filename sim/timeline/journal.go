package timeline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Recorder records events. It may be used by many goroutines.
type Recorder interface {
	// Record stamps Seq and At, sets Kind to that of the payload, and keeps the event.
	Record(Event)
	// Now is the present moment of the run.
	Now() time.Duration
}

// Journal is the Recorder of a run: it keeps all events in memory and writes each at once to a file.
type Journal struct {
	clock clock.PassiveClock
	start time.Time

	mu      sync.Mutex
	out     io.Writer
	events  []Event
	more    chan struct{} // closed when there are more events, or none will come
	closed  bool
	failure error
}

var _ Recorder = &Journal{}

// NewJournal starts a run now. The header and every event are written to out as one line each; nil keeps them in
// memory only.
func NewJournal(c clock.PassiveClock, out io.Writer) *Journal {
	j := &Journal{clock: c, start: c.Now(), out: out, more: make(chan struct{})}
	j.write(header{Format: Format, Version: Version, Started: j.start.UTC()})
	return j
}

// Now is the time since the run was started.
func (j *Journal) Now() time.Duration { return j.clock.Since(j.start) }

// Started is when the run was started.
func (j *Journal) Started() time.Time { return j.start }

// Record keeps the event. Events after Close are dropped.
func (j *Journal) Record(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	e.Seq, e.At, e.Kind = len(j.events)+1, j.Now(), e.Payload.Kind()
	j.events = append(j.events, e)
	j.write(e)
	close(j.more)
	j.more = make(chan struct{})
}

// write keeps the first failure: a run whose record is lost must not end well.
func (j *Journal) write(line any) {
	if j.out == nil || j.failure != nil {
		return
	}
	content, err := json.Marshal(line)
	if err == nil {
		_, err = j.out.Write(append(content, '\n'))
	}
	if err != nil {
		j.failure = fmt.Errorf("write the timeline: %w", err)
	}
}

// Events are all events so far. The slice is never changed.
func (j *Journal) Events() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.events[:len(j.events):len(j.events)]
}

// Follow yields all events from the first on, and each new one as it is recorded, until the journal is closed or ctx
// is done. A slow follower holds up nobody and misses nothing.
func (j *Journal) Follow(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for next := 0; ; {
			j.mu.Lock()
			fresh, more, closed := j.events[next:len(j.events):len(j.events)], j.more, j.closed
			j.mu.Unlock()
			for _, e := range fresh {
				if !yield(e) {
					return
				}
			}
			next += len(fresh)
			if closed {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
		}
	}
}

// Close ends the run's record and returns what went wrong in writing it. If out is a file, or syncs as one, all of it
// is on the disk then: a verdict relies on it.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.more)
		if file, syncs := j.out.(interface{ Sync() error }); syncs && j.failure == nil {
			if err := file.Sync(); err != nil {
				j.failure = fmt.Errorf("sync the timeline to the disk: %w", err)
			}
		}
	}
	return j.failure
}
