package link

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
)

// frozenCapacity bounds the bytes that a frozen watch keeps. Beyond that its server has to wait, as with any client
// that does not read.
const frozenCapacity = 4 << 20

// errEnded is what the server's side of a watch gets that a fault has ended.
var errEnded = errors.New("a fault has ended the watch")

// stream is an open watch within reach of faults. It is what the link's own work writes the answer to. Faults change
// its state at once, even while its client does not read; what that means for the client is written in turn.
type stream struct {
	http.ResponseWriter
	request *Request
	r       *http.Request
	flusher *http.ResponseController
	cancel  context.CancelFunc
	next    http.Handler // the link's own work
	opened  atomic.Bool  // the header has been sent

	mu      sync.Mutex           // guards the state
	by      map[*active]struct{} // the faults that have seen it
	freezes map[*active]struct{}
	moved   chan struct{}                   // closed and replaced when the state changes
	last    func(contentType string) []byte // what to say before the end, when it is to end

	out        sync.Mutex // is locked by who writes to the client; never taken under mu
	frames     *frames    // nil before the header, and of what the server has refused
	frozenData []byte     // written when the watch is no longer frozen
	ended      bool       // by a fault
	done       bool       // nothing may be written any more
}

// streamed keeps watches within reach of faults.
func (t *traffic) streamed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := describe(r)
		if q.Verb != VerbWatch || r.Header.Get("Upgrade") != "" {
			next.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Accept-Encoding") // frames are counted; from 1.37 on, API servers compress watches for who asks them to
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		s := &stream{
			ResponseWriter: w, request: &q, r: r, flusher: http.NewResponseController(w), cancel: cancel, next: next,
			by: map[*active]struct{}{}, freezes: map[*active]struct{}{}, moved: make(chan struct{}),
		}
		t.join(s)
		defer t.part(s)
		s.serve(next, r.WithContext(ctx))
	})
}

func (t *traffic) join(s *stream) {
	t.mu.Lock()
	t.streams[s] = struct{}{}
	p := t.plan.Load()
	t.mu.Unlock()
	for _, a := range p.active {
		s.begin(a)
	}
}

func (t *traffic) part(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, s)
}

// serve returns when the watch has ended for the client too. A watch that a fault has ended ends well.
func (s *stream) serve(next http.Handler, r *http.Request) {
	defer func() {
		panicked := recover()
		ended := s.drain()
		if panicked != nil && !(ended && panicked == http.ErrAbortHandler) { //nolint:errorlint // what panics is no chain
			panic(panicked)
		}
	}()
	next.ServeHTTP(s, r)
}

// begin lets a fault act on the watch, once.
func (s *stream) begin(a *active) {
	if a.watch == nil || !a.match.fits(s.request, s.r) {
		return
	}
	s.change(func() {
		if _, already := s.by[a]; !already && !a.isOver() {
			s.by[a] = struct{}{}
			a.watch(a, s)
		}
	})
}

// end takes a fault off the watch.
func (s *stream) end(a *active) {
	s.change(func() {
		if _, acts := s.by[a]; acts && a.unwatch != nil {
			a.unwatch(a, s)
		}
	})
}

// change the state, and let the client see what follows from it.
func (s *stream) change(state func()) {
	s.mu.Lock()
	state()
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	go s.settle()
}

// WriteHeader opens the watch.
func (s *stream) WriteHeader(status int) {
	s.out.Lock()
	defer s.out.Unlock()
	s.ResponseWriter.WriteHeader(status)
	s.opened.Store(true)
	if status == http.StatusOK {
		s.frames = newFrames(s.Header().Get("Content-Type"))
		s.finish()
	}
}

// Write sends events to the client, or holds them.
func (s *stream) Write(p []byte) (int, error) {
	s.out.Lock()
	defer s.out.Unlock()
	for len(s.frozenData) >= frozenCapacity && s.frozen() {
		if !s.wait() {
			return 0, s.r.Context().Err()
		}
	}
	for written := 0; written < len(p); {
		if s.ended {
			return written, errEnded
		}
		n := len(p) - written
		if s.frames != nil {
			n = s.frames.advance(p[written:])
		}
		if err := s.emit(p[written : written+n]); err != nil {
			return written, err
		}
		written += n
		s.finish()
	}
	return len(p), nil
}

// FlushError sends what was written on its way.
func (s *stream) FlushError() error {
	s.out.Lock()
	defer s.out.Unlock()
	return s.flusher.Flush()
}

// drain waits until nothing is held back any more, or nobody wants it; nothing is written after it. It says whether a
// fault has ended the watch.
func (s *stream) drain() bool {
	s.out.Lock()
	defer s.out.Unlock()
	for s.frozen() && s.wait() {
	}
	s.release()
	s.done = true
	return s.ended
}

// settle writes what the state of the watch allows now.
func (s *stream) settle() {
	s.out.Lock()
	defer s.out.Unlock()
	if !s.done && !s.frozen() {
		s.release()
		s.finish()
	}
}

// What follows is called by who holds out.

// frozen says that events are held back. What is no watch, because the server has refused it or has said nothing yet,
// has none: a client hears a refusal at once.
func (s *stream) frozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.freezes) > 0 && s.frames != nil
}

func (s *stream) emit(p []byte) error {
	s.mu.Lock()
	frozen := len(s.freezes) > 0 && s.frames != nil
	if frozen {
		for a := range s.freezes {
			a.hit()
		}
	}
	s.mu.Unlock()
	if frozen {
		s.frozenData = append(s.frozenData, p...)
		return nil
	}
	s.release()
	_, err := s.ResponseWriter.Write(p)
	return err
}

// release sends what was held back. A client that has gone misses it.
func (s *stream) release() {
	if len(s.frozenData) > 0 {
		_, _ = s.ResponseWriter.Write(s.frozenData)
		_ = s.flusher.Flush()
		s.frozenData = nil
	}
}

// finish ends the watch when it is to end and may: between two events, with nothing held back.
func (s *stream) finish() {
	s.mu.Lock()
	last, frozen := s.last, len(s.freezes) > 0
	s.mu.Unlock()
	if last == nil || frozen || s.ended || s.frames == nil || !s.frames.between() {
		return
	}
	s.ended = true
	_, _ = s.ResponseWriter.Write(last(s.Header().Get("Content-Type"))) // the client may have gone
	_ = s.flusher.Flush()
	s.cancel()
}

// endWith lets the watch end, with these last words. It is called under mu.
func (s *stream) endWith(a *active, last func(contentType string) []byte) {
	if s.last == nil {
		a.hit()
		s.last = last
	}
}

// wait until the state changes; false when the client has gone.
func (s *stream) wait() bool {
	s.mu.Lock()
	moved := s.moved
	s.mu.Unlock()
	s.out.Unlock()
	defer s.out.Lock()
	select {
	case <-moved:
		return true
	case <-s.r.Context().Done():
		return false
	}
}
