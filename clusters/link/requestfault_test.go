package link_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

const collection = "/api/v1/namespaces/n/configmaps"

// apiScene is a link to a server that looks like an API server from far away: it answers everything, and has a watch.
type apiScene struct {
	*world
	link    *link.Link
	watched *stream
	version atomic.Int64 // of the only object, which changes with every request
}

func newAPIScene(t *testing.T) *apiScene {
	t.Helper()
	s := &apiScene{watched: newStream(http.Header{"Content-Type": {"application/json"}})}
	s.world = newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			s.watched.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/refused") {
			w.WriteHeader(http.StatusConflict)
		}
		version := s.version.Add(1)
		fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},`+
			`"items":[{"metadata":{"resourceVersion":"%d"}}]}`, version, version)
	}))
	s.link = s.world.link(t, link.Options{})
	return s
}

func (s *apiScene) send(ctx context.Context, protocol, method, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, s.link.URL()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.client(protocol).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// What a request to the link must look like to feel each fault.
var requestFaults = map[string]struct {
	fault              link.Fault
	method, path, body string
	endless            bool // it gets no answer before the heal
	once               bool // a second one feels it no more
}{
	"fail": {fault: requests.Fail{Status: 500}, method: "GET", path: collection},
	"delay": {fault: requests.Delay{Delay: metav1.Duration{Duration: time.Hour}}, method: "GET", path: collection,
		endless: true},
	"hold": {fault: requests.Hold{}, method: "DELETE", path: collection + "/x", endless: true},
	"hold after": {fault: requests.Hold{At: requests.After}, method: "PUT", path: collection + "/x", body: "{}",
		endless: true},
	"abort":       {fault: requests.Abort{}, method: "GET", path: collection},
	"drop answer": {fault: requests.DropAnswer{}, method: "POST", path: collection, body: "{}"},
	"crash":       {fault: requests.Crash{}, method: "PATCH", path: collection + "/x", body: "{}"},
	"crash after": {fault: requests.Crash{At: requests.After}, method: "POST", path: collection, body: "{}"},
	"size limit":  {fault: requests.SizeLimit{Bytes: 10}, method: "POST", path: collection, body: strings.Repeat("x", 11)},
	"tripwire":    {fault: requests.Tripwire{}, method: "GET", path: "/healthz"},
	"stale list":  {fault: watches.StaleList{}, method: "GET", path: collection + "?resourceVersion=0"},
}

// Every fault of requests hits, heals, and leaves the link clean; also when the client gives up, and when the link
// is closed in the middle of it.
func TestRequestFaultConformance(t *testing.T) {
	t.Parallel()
	for name, c := range requestFaults {
		for _, protocol := range []string{"h2", "http/1.1"} {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				s := newAPIScene(t)
				if err := s.send(t.Context(), protocol, c.method, c.path, c.body); err != nil {
					t.Fatal(err)
				}
				i := s.link.Begin(c.fault)
				given, giveUp := context.WithCancel(t.Context())
				call := func() (bool, error) { return true, s.send(given, protocol, c.method, c.path, c.body) }
				if name == "stale list" {
					wait(t, async(call)) // the first is what the others get
				}
				first := async(call)
				eventually(t, "the fault has hit", func() bool { return i.Hits() == 1 })
				if !c.endless {
					wait(t, first)
				}
				second := async(call)
				eventually(t, "the fault has hit again", func() bool { return i.Hits() == 2 })
				giveUp()
				wait(t, second)
				i.Heal()
				if err := s.send(t.Context(), protocol, c.method, c.path, c.body); err != nil || i.Hits() != 2 {
					t.Errorf("after the heal: %v, %d hits", err, i.Hits())
				}

				j := s.link.Begin(c.fault)
				third := async(func() (bool, error) { return true, s.send(t.Context(), protocol, c.method, c.path, c.body) })
				if name != "stale list" {
					eventually(t, "the fault has hit", func() bool { return j.Hits() == 1 })
				}
				if err := s.link.Close(); err != nil {
					t.Error(err)
				}
				wait(t, third)
				j.Heal()
			})
		}
	}
}

// Who looks behind an answer sees whether the server has given it.
func TestWhatALinkRefusesIsUnsent(t *testing.T) {
	t.Parallel()
	s := newAPIScene(t)
	for name, c := range map[string]struct {
		fault link.Fault
		want  bool
	}{
		"refused by the server": {requests.Tripwire{}, false},
		"failed":                {requests.Fail{Status: http.StatusConflict}, true},
		"too large":             {requests.SizeLimit{Bytes: 1}, true},
	} {
		i := s.link.Begin(c.fault)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.link.URL()+collection+"/refused",
			strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.client("h2").Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < http.StatusBadRequest || forward.Unsent(response.Header) != c.want {
			t.Errorf("%s: answered %s, unsent %t", name, response.Status, !c.want)
		}
		i.Heal()
	}
}

// The end of a fault can be awaited: by then hooks have returned, and the requests that they were called for count. A
// hook does not wait for itself.
func TestAwaitHooks(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]link.Fault{"hang-up": requests.Crash{}, "no-hang-up": requests.Tripwire{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIScene(t)
			called, release := make(chan struct{}), make(chan struct{})
			var i *link.Injection
			i = s.link.BeginWith(f, func(context.Context, kubeapi.Request) {
				i.Heal()
				close(called)
				<-release
			})
			sent := async(func() (bool, error) { return true, s.send(t.Context(), "h2", "DELETE", collection+"/x", "") })
			wait(t, called)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := i.Await(ctx); err == nil || !strings.Contains(err.Error(), f.Name()) || i.Hits() != 0 {
				t.Errorf("awaited while the hook ran: %v, %d hits", err, i.Hits())
			}
			close(release)
			if err := i.Await(t.Context()); err != nil || i.Hits() != 1 {
				t.Errorf("awaited: %v, %d hits", err, i.Hits())
			}
			wait(t, sent)
			if err := s.send(t.Context(), "h2", "DELETE", collection+"/x", ""); err != nil || i.Hits() != 1 {
				t.Errorf("after the heal: %v, %d hits", err, i.Hits())
			}
		})
	}
}

// What the link understands of requests.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newAPIScene(t)
	seen := make(chan kubeapi.Request, 1)
	s.link.BeginWith(requests.Tripwire{}, func(_ context.Context, q kubeapi.Request) { seen <- q })
	for line, want := range map[string]kubeapi.Request{
		"GET /healthz":      {},
		"GET /apis":         {},
		"GET /apis/apps/v1": {},
		"GET /api/v1/namespaces": {Verb: "list", Group: "core", Version: "v1",
			Resource: "namespaces"},
		"GET /api/v1/namespaces/n": {Verb: "get", Group: "core", Version: "v1",
			Resource: "namespaces", Namespace: "n", Name: "n"},
		"PUT /api/v1/namespaces/n/finalize": {Verb: "update", Group: "core", Version: "v1",
			Resource: "namespaces", Namespace: "n", Name: "n", Subresource: "finalize"},
		"POST " + collection: {Verb: "create", Group: "core", Version: "v1",
			Resource: "configmaps", Namespace: "n"},
		"DELETE " + collection: {Verb: "deletecollection", Group: "core", Version: "v1",
			Resource: "configmaps", Namespace: "n"},
		"DELETE " + collection + "/x": {Verb: "delete", Group: "core", Version: "v1",
			Resource: "configmaps", Namespace: "n", Name: "x"},
		"GET /apis/a.b/v1/shoots": {Verb: "list", Group: "a.b", Version: "v1",
			Resource: "shoots"},
		"PATCH /apis/a.b/v1/namespaces/n/cs/x/status": {Verb: "patch", Group: "a.b", Version: "v1", Resource: "cs",
			Namespace: "n", Name: "x", Subresource: "status"},
		"GET " + collection + "?fieldSelector=metadata.name%3Dx": {Verb: "list", Group: "core", Version: "v1",
			Resource: "configmaps", Namespace: "n", Name: "x"},
		"GET " + collection + "?watch=false": {Verb: "list", Group: "core", Version: "v1",
			Resource: "configmaps", Namespace: "n"},
	} {
		method, path, _ := strings.Cut(line, " ")
		if err := s.send(t.Context(), "h2", method, path, ""); err != nil {
			t.Fatal(err)
		}
		want.Method = method
		want.Path, _, _ = strings.Cut(path, "?")
		if diff := cmp.Diff(want, wait(t, seen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestMatchAndTurn(t *testing.T) {
	t.Parallel()
	s := newAPIScene(t)
	for _, c := range []struct {
		fault link.Fault
		hit   []int // of the calls below, counted from 1
	}{
		{requests.Tripwire{}, []int{1, 2, 3, 4, 6}},
		{requests.Tripwire{Match: kubeapi.Match{Resource: "events"}}, []int{5}},
		{requests.Tripwire{Match: kubeapi.Match{Verbs: []string{"patch"}}}, []int{2, 3}},
		{requests.Tripwire{Match: kubeapi.Match{Verbs: []string{"apply"}}}, []int{3}},
		{requests.Tripwire{Match: kubeapi.Match{Name: "x"}}, []int{1, 2, 3}},
		{requests.Tripwire{Match: kubeapi.Match{Name: "x", Subresource: "status"}}, []int{2}},
		{requests.Tripwire{Match: kubeapi.Match{Subresource: kubeapi.NoSubresource, Group: "core"}}, []int{1, 3, 6}},
		{requests.Tripwire{Match: kubeapi.Match{Path: "/metrics/*"}}, []int{4}},
		{requests.Tripwire{Match: kubeapi.Match{Method: "GET"}}, []int{4, 6}},
		{requests.Tripwire{Turn: requests.Turn{Nth: 2}}, []int{2}},
		{requests.Tripwire{Turn: requests.Turn{From: 5}}, []int{6}},
		{requests.Tripwire{Turn: requests.Turn{Every: 2}}, []int{2, 4}},
		{requests.Tripwire{Turn: requests.Turn{From: 3, Every: 2, Times: 1}}, []int{4}},
		{requests.Crash{}, []int{1, 2, 3}},
		{requests.Crash{Match: kubeapi.Match{Resource: "events"}}, []int{5}},
		{requests.DropAnswer{Match: kubeapi.Match{Verbs: []string{"list"}}}, []int{6}},
	} {
		i := s.link.Begin(c.fault)
		var hit []int
		for number, call := range []struct{ method, path, contentType string }{
			{"POST", collection, "application/json"},
			{"PATCH", collection + "/x/status", "application/merge-patch+json"},
			{"PATCH", collection + "/x", "application/apply-patch+yaml"},
			{"GET", "/metrics/all", ""},
			{"POST", "/api/v1/namespaces/n/events", "application/json"},
			{"GET", collection, ""},
		} {
			before := i.Hits()
			request, err := http.NewRequestWithContext(t.Context(), call.method, s.link.URL()+call.path,
				strings.NewReader(`{"metadata":{"name":"x"}}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", call.contentType)
			if number == 4 {
				request.Body = http.NoBody // an event without a name
			}
			if response, err := s.client("h2").Do(request); err == nil {
				_ = response.Body.Close()
			}
			if i.Hits() > before {
				hit = append(hit, number+1)
			}
		}
		i.Heal()
		if diff := cmp.Diff(c.hit, hit); diff != "" {
			content, _ := json.Marshal(c.fault)
			t.Errorf("%s (-want +got):\n%s", content, diff)
		}
	}
}

// What the server has refused was not carried out: what strikes afterwards does not hit it, and it takes no turn.
func TestRefusedRequestsTakeNoTurn(t *testing.T) {
	t.Parallel()
	s := newAPIScene(t)
	for name, f := range map[string]link.Fault{
		"drop answer": requests.DropAnswer{Turn: requests.Turn{Nth: 2}},
		"crash":       requests.Crash{At: requests.After, Turn: requests.Turn{Nth: 2}},
		"tripwire":    requests.Tripwire{At: requests.After, Turn: requests.Turn{Nth: 2}},
	} {
		i := s.link.Begin(f)
		for number, path := range []string{"/a", "/refused", "/refused", "/b"} {
			err := s.send(t.Context(), "h2", http.MethodPut, collection+path, "{}")
			last := number == 3
			if (err != nil) != (last && name != "tripwire") || (i.Hits() == 1) != last {
				t.Errorf("%s: request %d to %s: %v, %d hits", name, number+1, path, err, i.Hits())
			}
		}
		i.Heal()
	}
}

// A watch that ends does so between two events, however they are cut up on their way.
func TestWatchEndsBetweenEvents(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h2", "http/1.1"} {
		s := newAPIScene(t)
		body := open(t, s.client(protocol), s.link.URL()+collection+"?watch=true").Body
		s.watched.send(t, "{\"one\":1}\n{\"tw")
		expectChunk(t, body, "{\"one\":1}\n{\"tw")
		i := s.link.Begin(watches.Closed{})
		s.watched.send(t, "o\":2}\n{\"three\":3}\n")
		rest, err := io.ReadAll(body)
		if err != nil || string(rest) != "o\":2}\n" {
			t.Errorf("%s: got %q, %v", protocol, rest, err)
		}
		i.Heal()
	}
}

// A frozen watch whose server ends stays open, and its client can leave.
func TestFrozenWatchOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := newAPIScene(t)
	ctx, leave := context.WithCancel(t.Context())
	stays := open(t, s.client("h2"), s.link.URL()+collection+"?watch=true").Body
	i := s.link.Begin(watches.Frozen{})
	s.watched.send(t, "{}\n")
	eventually(t, "the event is held back", func() bool { return i.Hits() == 1 })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.link.URL()+collection+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := s.client("h2").Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer leaves.Body.Close()
	leave()
	if _, err := io.ReadAll(leaves.Body); err == nil {
		t.Error("who has left hears an end")
	}
	s.upstream.CloseClientConnections()
	i.Heal()
	expectChunk(t, stays, "{}\n")
}

// A refusal is no event: who asks for a watch and may not have it hears so at once, and that counts as nothing.
func TestFrozenWatchHoldsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusGone, http.StatusTooManyRequests, http.StatusInternalServerError} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "refused")
			}))
			l := w.link(t, link.Options{})
			i := l.Begin(watches.Frozen{})
			answer := wait(t, get(t, w.client(protocol), l.URL()+collection+"?watch=true"))
			if answer.err != nil || answer.value != "refused" || i.Hits() != 0 {
				t.Errorf("%d over %s: got %q, %v, %d hits", status, protocol, answer.value, answer.err, i.Hits())
			}
			i.Heal()
		}
	}
}

// TestErrorsAreCounted: what the server could not answer, what it left unfinished, and what a fault did in its place;
// not what went well, what the client got wrong, or what it gave up.
func TestErrorsAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
		case "/conflict":
			w.WriteHeader(http.StatusConflict)
		case "/unavailable":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/half":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		case "/slow":
			<-r.Context().Done()
		}
	}))
	l := w.link(t, link.Options{})
	aborted := kubeapi.Match{Path: "/aborted"}
	refused := kubeapi.Match{Path: "/refused"}
	t.Cleanup(l.Inject(requests.Fail{Match: refused, Status: http.StatusTooManyRequests}))
	t.Cleanup(l.Inject(requests.Abort{Match: aborted}))
	s := &apiScene{world: w, link: l}
	for _, c := range []struct {
		path   string
		errors int64
	}{{"/ok", 0}, {"/conflict", 0}, {"/unavailable", 1}, {"/half", 1}, {"/refused", 1}, {"/aborted", 1}, {"/slow", 0}} {
		before := l.Stats().Errors
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if c.path == "/slow" {
			ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		}
		_ = s.send(ctx, "h2", http.MethodGet, c.path, "") // some go wrong, as they should
		cancel()
		if got := l.Stats().Errors - before; got != c.errors {
			t.Errorf("%s counts %d errors, want %d", c.path, got, c.errors)
		}
	}
	before := l.Stats().Errors
	i := l.Begin(wire.Reset{}) // of the connections that are open by now: of those above, some may still be closing
	defer i.Heal()
	if got, reset := l.Stats().Errors-before, int64(i.Hits()); reset == 0 || got != reset {
		t.Errorf("of %d connections that were reset %d count", reset, got)
	}
}
