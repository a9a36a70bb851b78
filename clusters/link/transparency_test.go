package link_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

const big = 3 << 20

// seen is one side's view of an exchange: what a link must not change.
type seen struct {
	Method, Host, URI, Body, Status string
	Length                          int64
	Header, Trailer                 http.Header
}

// exchange is a request, how the server answers it, and what both saw.
type exchange struct {
	method, path string
	header       http.Header
	body         func() io.Reader // nil: none
	trailer      http.Header
	respond      func(http.ResponseWriter, *http.Request)
}

func TestPassesUnchanged(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		for name, e := range exchanges() {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				t.Parallel()
				var requests sync.Map // by the name in the header Via-Test
				w := newWorld(t, recording(e, &requests))
				l := w.link(t, link.Options{})
				got := map[string][2]seen{}
				for way, url := range map[string]string{"direct": w.upstream.URL, "link": l.URL()} {
					response := e.send(t, w.client(protocol), url, way)
					request, _ := requests.Load(way)
					got[way] = [2]seen{request.(seen), response}
				}
				if diff := cmp.Diff(got["direct"], got["link"]); diff != "" {
					t.Errorf("the link changed (-direct +link):\n%s", diff)
				}
			})
		}
	}
}

func exchanges() map[string]exchange {
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"kind":"Status"}`) }
	return map[string]exchange{
		"get":           {method: "GET", path: "/api/v1/pods?limit=5&continue=x", respond: ok},
		"strange query": {method: "GET", path: "/a?b=1;c=%zz&d", respond: ok},
		"escaped path":  {method: "GET", path: "/a%2Fb/../c//d%20e", respond: ok},
		"no user agent": {method: "GET", header: http.Header{"User-Agent": {""}}, respond: ok},
		"protobuf": {method: "GET",
			header: http.Header{"Accept": {"application/vnd.kubernetes.protobuf,application/json"}}, respond: protobuf},
		"bearer token": {method: "GET", header: http.Header{"Authorization": {"Bearer abc"}}, respond: ok},
		"forwarding headers": {method: "GET", header: http.Header{"X-Forwarded-For": {"10.0.0.1"},
			"Forwarded": {"for=x"}}, respond: ok},
		"several values": {method: "GET", header: http.Header{"X-Many": {"a", "b,c", "d"}}, respond: ok},
		"head": {method: "HEAD", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "77")
		}},
		"put 3 MiB": {method: "PUT", body: known(big), respond: ok},
		"patch 3 MiB": {method: "PATCH", body: known(big),
			header: http.Header{"Content-Type": {"application/apply-patch+yaml"}}, respond: ok},
		"post of unknown length": {method: "POST", body: unknown(big), respond: ok},
		"post of nothing":        {method: "POST", body: known(0), respond: ok},
		"delete with a body":     {method: "DELETE", body: known(100), respond: ok},
		"expect continue": {method: "PUT", body: known(1000), header: http.Header{"Expect": {"100-continue"}},
			respond: ok},
		"request trailer": {method: "POST", body: unknown(100), trailer: http.Header{"X-Sum": {"42"}}, respond: ok},
		"gzip request": {method: "POST", body: known(100), header: http.Header{"Content-Encoding": {"gzip"}},
			respond: ok},
		"gzip asked for": {method: "GET", header: http.Header{"Accept-Encoding": {"gzip"}}, respond: gzipped},
		"gzip unasked":   {method: "GET", respond: gzipped},
		"3 MiB": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(random(big))
		}},
		"3 MiB of known length": {method: "GET", respond: declared(big)},
		"no content":            {method: "GET", respond: answering(http.StatusNoContent)},
		"not modified":          {method: "GET", respond: answering(http.StatusNotModified)},
		"redirect": {method: "GET", respond: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusFound)
		}},
		"server error": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "etcdserver: no", 500)
		}},
		"no type, no date": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
			_, _ = io.WriteString(w, "<html>")
		}},
		"announced trailer":  {method: "GET", respond: trailing("Trailer", "X-Sum", "X-Sum")},
		"surprising trailer": {method: "GET", respond: trailing("X-Nothing", "x", http.TrailerPrefix+"X-Sum")},
		"warnings": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Warning"] = []string{`299 - "a"`, `299 - "b"`}
		}},
		"retry after": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		}},
		"connection's header": {method: "GET", respond: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Keep-Alive", "timeout=5")
		}},
	}
}

func recording(e exchange, requests *sync.Map) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = []byte(err.Error())
		}
		way := r.Header.Get("Via-Test")
		r.Header.Del("Via-Test")
		requests.Store(way, seen{
			Method: r.Method, Host: r.Host, URI: r.RequestURI, Length: r.ContentLength,
			Body: digest(body), Header: endToEnd(r.Header), Trailer: r.Trailer.Clone(),
		})
		e.respond(w, r)
	})
}

// send makes the request and returns the client's view of the answer. Directly and through the link it names the same
// Host, which no link may change.
func (e exchange) send(t *testing.T, client *http.Client, url, way string) seen {
	t.Helper()
	var body io.Reader
	if e.body != nil {
		body = e.body()
	}
	request, err := http.NewRequestWithContext(t.Context(), e.method, url+e.path, body)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(request.Header, e.header)
	request.Header.Set("Via-Test", way)
	request.Host, request.Trailer = "garden.test:6443", e.trailer
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if date := response.Header["Date"]; len(date) > 0 {
		response.Header["Date"] = []string{"some date"}
	}
	return seen{
		Status: response.Status, Length: response.ContentLength, Body: digest(content),
		Header: endToEnd(response.Header), Trailer: response.Trailer,
	}
}

// endToEnd leaves out what belongs to one connection.
func endToEnd(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Expect") // HTTP/2 servers answer it themselves, and remove it
	h.Del("Keep-Alive")
	h.Del("Connection")
	return h
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf("%d bytes, %s", len(body), hex.EncodeToString(sum[:4]))
}

// random are bytes that repeat nowhere near.
func random(n int) []byte {
	all := make([]byte, n)
	state := uint64(42)
	for i := range all {
		state = state*6364136223846793005 + 1442695040888963407
		all[i] = byte(state >> 56)
	}
	return all
}

func known(n int) func() io.Reader { return func() io.Reader { return bytes.NewReader(random(n)) } }

func unknown(n int) func() io.Reader {
	return func() io.Reader { return io.MultiReader(bytes.NewReader(random(n))) }
}

func answering(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func declared(n int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(n))
		_, _ = w.Write(random(n))
	}
}

func protobuf(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	_, _ = w.Write(append([]byte("k8s\x00"), random(200)...))
}

func gzipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	_, _ = zip.Write(bytes.Repeat([]byte("pods "), 10000))
	_ = zip.Close()
}

func trailing(name, value, trailer string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		_, _ = io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set(trailer, "42")
	}
}

// TestStreamsPromptly sees each chunk of an answer before the next is sent, header first.
func TestStreamsPromptly(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		for name, header := range map[string]http.Header{
			"watch":           {"Content-Type": {"application/json"}},
			"events":          {"Content-Type": {"text/event-stream"}},
			"of known length": {"Content-Length": {"12"}},
		} {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStream(header)
				w := newWorld(t, s)
				l := w.link(t, link.Options{})
				response := open(t, w.client(protocol), l.URL())
				for _, chunk := range []string{"one\n", "two\n", "end\n"} {
					s.send(t, chunk)
					expectChunk(t, response.Body, chunk)
				}
				close(s.chunks)
				if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
					t.Errorf("rest of the stream: %q, %v", rest, err)
				}
			})
		}
	}
}

// TestBreaksOff passes on that an answer ends before its end.
func TestBreaksOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	l := w.link(t, link.Options{})
	for protocol, want := range map[string]string{"h2": "INTERNAL_ERROR", "http/1.1": "unexpected EOF"} {
		body, err := io.ReadAll(open(t, w.client(protocol), l.URL()).Body)
		if string(body) != "half" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q and error %v, want %q and an error with %q", protocol, body, err, "half", want)
		}
	}
}

// TestEarlyAnswer gets an answer although the server does not read the body.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(answering(http.StatusRequestEntityTooLarge)))
	l := w.link(t, link.Options{})
	response, err := w.client("h2").Post(l.URL(), "application/json", unknown(big)())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got status %s", response.Status)
	}
}

// TestClientLeaves passes on that nobody waits for the answer any more.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		s := newStream(nil)
		w := newWorld(t, s)
		l := w.link(t, link.Options{})
		_ = open(t, w.client(protocol), l.URL()).Body.Close()
		if err := wait(t, s.left); !errors.Is(err, errLeft) {
			t.Errorf("%s: the server saw %v", protocol, err)
		}
	}
}

func TestUpstreamTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(10))
	foreign := newWorld(t, answer(10))
	gone := newWorld(t, answer(10))
	gone.upstream.Close()
	deaf := w.serve("127.0.0.1:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}), nil, "127.0.0.1")
	for name, c := range map[string]struct {
		l, want string
		unsent  bool
	}{
		"unknown authority": {w.linkTo(t, foreign.upstream.URL), "certificate signed by unknown authority", true},
		"gone":              {w.linkTo(t, gone.upstream.URL), "connection refused", true},
		"deaf":              {w.linkTo(t, deaf.URL), "INTERNAL_ERROR", false},
	} {
		response := open(t, w.client("h2"), c.l)
		text, _ := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusBadGateway || !strings.Contains(string(text), c.want) ||
			!strings.HasPrefix(string(text), "link(gardenlet-a,garden): ") {
			t.Errorf("%s: got %s %q, want 502 with the link's name and %q", name, response.Status, text, c.want)
		}
		if forward.Unsent(response.Header) != c.unsent {
			t.Errorf("%s: the link says that it has sent the request: %t", name, c.unsent)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1000))
	l := w.link(t, link.Options{})
	client := w.client("h2")
	for range 3 {
		_, _ = io.Copy(io.Discard, open(t, client, l.URL()).Body)
	}
	s := l.Stats()
	if s.Requests != 3 || s.Connections != 1 || s.OpenConnections != 1 || s.Hits != 0 {
		t.Errorf("got %+v, want 3 requests on 1 connection, untouched", s)
	}
	if s.BytesToClient < 3000 || s.BytesToServer < 100 {
		t.Errorf("got %+v, want at least the bytes of 3 answers and a handshake", s)
	}
	if l.Name() != "link(gardenlet-a,garden)" {
		t.Errorf("the link is called %q", l.Name())
	}
	eventually(t, "the connection is gone", func() bool {
		client.CloseIdleConnections() // it may count as busy for a moment after its last answer was read
		return l.Stats().OpenConnections == 0
	})
}
