package serve

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sync/semaphore"
)

// Few requests have runs in memory at a time. Who waits can leave, and who is slow to take an answer keeps nobody else
// waiting.
func TestAnswer_ManyRequests_ReadInTurn(t *testing.T) {
	t.Parallel()
	s := &site{reading: semaphore.NewWeighted(readers)}
	entered, goOn := make(chan struct{}), make(chan struct{})
	slow := s.page(func(_ *http.Request, out *bytes.Buffer) error {
		entered <- struct{}{}
		<-goOn
		return out.WriteByte('x')
	})
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	clients := []*reader{newReader(), newReader()}
	for _, r := range clients {
		go slow(r, request)
		<-entered
	}
	if s.reading.TryAcquire(1) {
		t.Error("a third request may read runs beside two others")
		s.reading.Release(1)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	s.page(func(*http.Request, *bytes.Buffer) error {
		t.Error("runs are read for a client that has gone")
		return nil
	})(httptest.NewRecorder(), request.WithContext(gone))

	close(goOn)
	for _, r := range clients {
		<-r.writing
	}
	third := httptest.NewRecorder()
	s.page(func(_ *http.Request, out *bytes.Buffer) error { return out.WriteByte('y') })(third, request)
	if third.Body.String() != "y" {
		t.Errorf("while two clients are slow to read, the third gets %d with %q", third.Code, third.Body)
	}
	for _, r := range clients {
		close(r.read)
	}
}

// reader is a client that takes its answer when it likes.
type reader struct {
	http.ResponseWriter
	writing, read chan struct{}
}

func newReader() *reader {
	return &reader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
}

func (r *reader) Write(content []byte) (int, error) {
	close(r.writing)
	<-r.read
	return r.ResponseWriter.Write(content)
}
