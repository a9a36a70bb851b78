package watches

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// frozenCapacity bounds the bytes that a frozen watch keeps. Beyond that its server has to wait, as with any client
// that does not read.
const frozenCapacity = 4 << 20

// errEnded is what the server's side of a watch gets that a fault has ended.
var errEnded = errors.New("a fault has ended the watch")

// Stream is an open watch within reach of faults. It is what the link's own work writes the answer to. Faults change
// its state at once, even while its client does not read; what that means for the client is written in turn.
type Stream struct {
	http.ResponseWriter
	request *kubeapi.Request
	r       *http.Request
	flusher *http.ResponseController
	cancel  context.CancelFunc
	next    http.Handler // the link's own work
	opened  atomic.Bool  // the header has been sent

	mu      sync.Mutex           // guards the state
	by      map[*Active]struct{} // the faults that have seen it
	freezes map[*Active]struct{}
	moved   chan struct{}                   // closed and replaced when the state changes
	last    func(contentType string) []byte // what to say before the end, when it is to end

	out        sync.Mutex      // is locked by who writes to the client; never taken under mu
	frames     *kubeapi.Frames // nil before the header, and of what the server has refused
	frozenData []byte          // written when the watch is no longer frozen
	ended      bool            // by a fault
	done       bool            // nothing may be written any more
}

// Reachable keeps watches within reach of faults: join is called with each that opens, and part when it has ended.
func Reachable(next http.Handler, join, part func(*Stream)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := kubeapi.Describe(r)
		if q.Verb != kubeapi.VerbWatch || r.Header.Get("Upgrade") != "" {
			next.ServeHTTP(w, r)
			return
		}
		r.Header.Del("Accept-Encoding") // frames are counted; from 1.37 on, API servers compress watches for who asks them to
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		s := &Stream{
			ResponseWriter: w, request: &q, r: r, flusher: http.NewResponseController(w), cancel: cancel, next: next,
			by: map[*Active]struct{}{}, freezes: map[*Active]struct{}{}, moved: make(chan struct{}),
		}
		join(s)
		defer part(s)
		s.serve(next, r.WithContext(ctx))
	})
}

// serve returns when the watch has ended for the client too. A watch that a fault has ended ends well.
func (s *Stream) serve(next http.Handler, r *http.Request) {
	defer func() {
		panicked := recover()
		ended := s.drain()
		if panicked != nil && !(ended && panicked == http.ErrAbortHandler) { //nolint:errorlint // what panics is no chain
			panic(panicked)
		}
	}()
	next.ServeHTTP(s, r)
}

// Begin lets a fault act on the watch, once.
func (s *Stream) Begin(a *Active) {
	if a.Watch == nil || !a.Match.Fits(s.request, s.r) {
		return
	}
	s.change(func() {
		if _, already := s.by[a]; !already && !a.IsOver() {
			s.by[a] = struct{}{}
			a.Watch(a, s)
		}
	})
}

// End takes a fault off the watch.
func (s *Stream) End(a *Active) {
	s.change(func() {
		if _, acts := s.by[a]; acts && a.Unwatch != nil {
			a.Unwatch(a, s)
		}
	})
}

// change the state, and let the client see what follows from it.
func (s *Stream) change(state func()) {
	s.mu.Lock()
	state()
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	go s.settle()
}

// WriteHeader opens the watch.
func (s *Stream) WriteHeader(status int) {
	s.out.Lock()
	defer s.out.Unlock()
	s.ResponseWriter.WriteHeader(status)
	s.opened.Store(true)
	if status == http.StatusOK {
		s.frames = kubeapi.NewFrames(s.Header().Get("Content-Type"))
		s.finish()
	}
}

// Write sends events to the client, or holds them.
func (s *Stream) Write(p []byte) (int, error) {
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
			n = s.frames.Advance(p[written:])
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
func (s *Stream) FlushError() error {
	s.out.Lock()
	defer s.out.Unlock()
	return s.flusher.Flush()
}

// drain waits until nothing is held back any more, or nobody wants it; nothing is written after it. It says whether a
// fault has ended the watch.
func (s *Stream) drain() bool {
	s.out.Lock()
	defer s.out.Unlock()
	for s.frozen() && s.wait() {
	}
	s.release()
	s.done = true
	return s.ended
}

// settle writes what the state of the watch allows now.
func (s *Stream) settle() {
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
func (s *Stream) frozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.freezes) > 0 && s.frames != nil
}

func (s *Stream) emit(p []byte) error {
	s.mu.Lock()
	frozen := len(s.freezes) > 0 && s.frames != nil
	if frozen {
		for a := range s.freezes {
			a.Hit()
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
func (s *Stream) release() {
	if len(s.frozenData) > 0 {
		_, _ = s.ResponseWriter.Write(s.frozenData)
		_ = s.flusher.Flush()
		s.frozenData = nil
	}
}

// finish ends the watch when it is to end and may: between two events, with nothing held back.
func (s *Stream) finish() {
	s.mu.Lock()
	last, frozen := s.last, len(s.freezes) > 0
	s.mu.Unlock()
	if last == nil || frozen || s.ended || s.frames == nil || !s.frames.Between() {
		return
	}
	s.ended = true
	_, _ = s.ResponseWriter.Write(last(s.Header().Get("Content-Type"))) // the client may have gone
	_ = s.flusher.Flush()
	s.cancel()
}

// endWith lets the watch end, with these last words. It is called under mu.
func (s *Stream) endWith(a *Active, last func(contentType string) []byte) {
	if s.last == nil {
		a.Hit()
		s.last = last
	}
}

// wait until the state changes; false when the client has gone.
func (s *Stream) wait() bool {
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
