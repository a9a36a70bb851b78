package link_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/link"
)

// patience bounds every wait of the tests.
const patience = time.Minute

var errLeft = errors.New("the client left")

// stream is a handler whose answers, like watches, consist of the chunks that a test sends.
type stream struct {
	header http.Header
	chunks chan string
	left   chan error // one error for each client that left before the end
}

func newStream(header http.Header) *stream {
	return &stream{header: header, chunks: make(chan string), left: make(chan error, 10)}
}

func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), s.header)
	w.WriteHeader(http.StatusOK)
	for {
		w.(http.Flusher).Flush()
		select {
		case chunk, more := <-s.chunks:
			if !more {
				return
			}
			_, _ = io.WriteString(w, chunk)
		case <-r.Context().Done():
			s.left <- errLeft
			return
		}
	}
}

func (s *stream) send(t *testing.T, chunk string) {
	t.Helper()
	select {
	case s.chunks <- chunk:
	case <-time.After(patience):
		t.Fatalf("nobody takes %q", chunk)
	}
}

// open sends a GET and returns when the header of the answer has arrived.
func open(t testing.TB, client *http.Client, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// expectChunk reads a chunk, and no more than that.
func expectChunk(t *testing.T, body io.Reader, want string) {
	t.Helper()
	done := async(func() (string, error) {
		buffer := make([]byte, len(want))
		_, err := io.ReadFull(body, buffer)
		return string(buffer), err
	})
	if got := wait(t, done); got.err != nil || got.value != want {
		t.Fatalf("got the chunk %q and error %v, want %q", got.value, got.err, want)
	}
}

// result is what a function returned.
type result[T any] struct {
	value T
	err   error
}

// async calls a function beside the test.
func async[T any](f func() (T, error)) <-chan result[T] {
	done := make(chan result[T], 1)
	go func() {
		value, err := f()
		done <- result[T]{value, err}
	}()
	return done
}

// get fetches a whole answer beside the test.
func get(t *testing.T, client *http.Client, url string) <-chan result[string] {
	t.Helper()
	answer, _ := getTraced(t, client, url)
	return answer
}

// getTraced is get, and reports when the request has been written.
func getTraced(t *testing.T, client *http.Client, url string) (<-chan result[string], <-chan error) {
	t.Helper()
	sent := make(chan error, 10) // one for each try
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(wrote httptrace.WroteRequestInfo) { sent <- wrote.Err },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return async(func() (string, error) {
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}), sent
}

func wait[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatal("nothing happened in time")
		panic("unreachable")
	}
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// linkTo opens a link to another server, which is expected to be of this world.
func (w *world) linkTo(t *testing.T, target string) string {
	t.Helper()
	upstream, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return w.link(t, link.Options{Upstream: upstream}).URL()
}
