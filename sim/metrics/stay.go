package metrics

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Bounds of Stay.
const (
	leastPatience = 15 * time.Second // also on a busy machine, where scrapes are late or given up
	mostPatience  = time.Minute      // after so long without a scrape, none is expected
)

// fetches are the times at which the metrics were scraped.
type fetches struct {
	mu            sync.Mutex
	begun, served int // numbers of the last one that has begun, and of the last that was served
	last          time.Time
	gap           time.Duration // between the last two
	changed       chan struct{} // closed when another was served
}

func (f *fetches) begin(now time.Time) (number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.last.IsZero() {
		f.gap = now.Sub(f.last)
	}
	f.begun, f.last = f.begun+1, now
	return f.begun
}

func (f *fetches) end(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served = max(f.served, number)
	close(f.changed)
	f.changed = make(chan struct{})
}

// since says whether one that began after the given number was served, and what to wait for if not.
func (f *fetches) since(number int) (bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served > number, f.changed
}

// patience is how long the next may be waited for; 0 when none is to come.
func (f *fetches) patience(now time.Time) (last int, patience time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun == 0 || now.Sub(f.last) > mostPatience {
		return f.begun, 0
	}
	return f.begun, min(max(2*f.gap, leastPatience), mostPatience)
}

// counted are scrapes that were answered in time. What Prometheus has given up meanwhile, it does not keep.

func (e *Exporter) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number := e.fetches.begin(e.clock.Now())
		next.ServeHTTP(w, r)
		if r.Context().Err() == nil {
			e.fetches.end(number)
		}
	})
}

// Stay waits for one more scrape, so that a Prometheus sees the verdict before the engine ends: for at most 15 seconds,
// or twice the time between the last two scrapes if that is longer. If nobody scrapes, it returns at once.
func (e *Exporter) Stay(ctx context.Context) {
	last, patience := e.fetches.patience(e.clock.Now())
	if patience == 0 {
		return
	}
	timer := e.clock.NewTimer(patience)
	defer timer.Stop()
	for {
		served, changed := e.fetches.since(last)
		if served {
			return
		}
		select {
		case <-changed:
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
}
