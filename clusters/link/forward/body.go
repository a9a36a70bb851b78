package forward

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// flushPatience is how long a header waits for the body to travel with it, and a body for its end.
const flushPatience = time.Millisecond

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyBody copies the body and flushes whenever more is to come, so that nothing waits in the link. Every flush is a
// write to the client's connection, so an answer of known length that comes in one piece makes do with the one at its
// end.
func copyBody(w http.ResponseWriter, response *http.Response) error {
	if response.Body == http.NoBody || response.ContentLength == 0 {
		return nil
	}
	flusher := newFlusher(w)
	defer flusher.disarm()
	buffer := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	left, written := response.ContentLength, 0
	for {
		// What is whole but for its end can wait a moment for that.
		later := left == 0 || (left > 0 && written == 0 && len(response.Trailer) == 0)
		if err := flusher.flush(later); err != nil {
			return fmt.Errorf("flush the answer: %w", err)
		}
		n, err := response.Body.Read(buffer[:])
		flusher.disarm()
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return fmt.Errorf("write the body: %w", err)
			}
			written += n
			left -= int64(n)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
	}
}

// flusher flushes an answer now, or soon unless it is disarmed before.
type flusher struct {
	answer *http.ResponseController
	timer  *time.Timer
	mu     sync.Mutex
	armed  bool
}

func newFlusher(w http.ResponseWriter) *flusher {
	return &flusher{answer: http.NewResponseController(w)}
}

func (f *flusher) flush(later bool) error {
	if !later {
		return f.answer.Flush()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
	if f.timer == nil {
		f.timer = time.AfterFunc(flushPatience, f.fire)
	} else {
		f.timer.Reset(flushPatience)
	}
	return nil
}

func (f *flusher) fire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed {
		_ = f.answer.Flush() // the next write meets the error again
	}
}

// disarm returns when the answer is not being flushed, and will not be.
func (f *flusher) disarm() {
	if f.timer == nil {
		return
	}
	f.timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
}
