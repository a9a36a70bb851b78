package load_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/probe/access"
	"github.com/transplant-sim/transplant/sim/probe/load"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func journal() *timeline.Journal { return timeline.NewJournal(clock.RealClock{}, nil) }

// serving is a connector to a server with this handler, which counts its connections.
func serving(t *testing.T, handler http.HandlerFunc) (access.Connector, *atomic.Int32) {
	t.Helper()
	connections := &atomic.Int32{}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return to(server.URL), connections
}

func to(host string) access.Connector {
	return func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: host, BearerToken: "t", ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
			nil
	}
}

// linkedTo is a connector to a link to the target.
func linkedTo(t *testing.T, target string, faults ...link.Fault) access.Connector {
	t.Helper()
	upstream, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := pki.NewAuthority("transplant-links", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.IssueServing("127.0.0.1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.New(link.Options{Actor: "user", Target: "shoots", Listen: "127.0.0.1:0", Certificate: *certificate,
		Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, f := range faults {
		l.Begin(f)
	}
	return func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: l.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: ca.PEM()},
			ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, nil
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: "Failure", Code: int32(code), Message: "no"})
	}
}

func made(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","uid":"u","resourceVersion":"7"},`+
		`"data":{"number":"1"}}`)
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
	<-r.Context().Done()
}

// losing lets a handler be asked, and then the time of the one who asks be over.
func losing(over func(), handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		over()
		handler(w, r)
	}
}

func keys() *load.Keys { return load.NewKeys(rand.New(rand.NewPCG(1, 2))) }

// What has not been answered may have happened, unless it was never sent.
func TestTheOutcomeOfAWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    timeline.Outcome
		status  int
	}{
		"answered":         {made, timeline.Acknowledged, 0},
		"refused":          {status(http.StatusForbidden), timeline.Failed, 403},
		"conflict":         {status(http.StatusConflict), timeline.Failed, 409},
		"too many":         {status(http.StatusTooManyRequests), timeline.Failed, 429},
		"server error":     {status(http.StatusInternalServerError), timeline.Unknown, 500},
		"gateway timeout":  {status(http.StatusGatewayTimeout), timeline.Unknown, 504},
		"connection lost":  {hangUp, timeline.Unknown, 0},
		"no answer at all": {nil, timeline.Unknown, 0},
		"nobody listens":   {nil, timeline.Failed, 0},
		"link to nobody":   {nil, timeline.Failed, 0},
		"link that fails":  {nil, timeline.Failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			connect := to("http://127.0.0.1:1")
			switch name {
			case "no answer at all":
				connect, _ = serving(t, losing(cancel, silent))
			case "nobody listens":
			case "link to nobody":
				connect = linkedTo(t, "https://127.0.0.1:1")
			case "link that fails":
				connect = linkedTo(t, "https://127.0.0.1:1", requests.Fail{Status: http.StatusConflict})
			default:
				connect, _ = serving(t, c.handler)
			}
			j := journal()
			w := &load.Writer{Shoot: "alpha", Actor: "user", Connect: connect, Keys: keys(), PerSecond: 10}
			if err := w.Sample(ctx, j); err != nil {
				t.Fatal(err)
			}
			_, write, _ := timeline.First[timeline.Write](j.Events())
			if write.Outcome != c.want || write.Status != c.status || write.Number != 1 || write.Verb != "create" ||
				write.Answered < write.Sent {
				t.Errorf("%+v, want %s, HTTP %d", write, c.want, c.status)
			}
			if c.want == timeline.Acknowledged && (write.ResourceVersion != 7 || write.UID != "u") {
				t.Errorf("%+v", write)
			}
			if c.want != timeline.Acknowledged && write.Error == "" {
				t.Error("no error is recorded")
			}
		})
	}
}

// A cached reader stays at the address that it first had, and reads what is in memory. That nobody answers is right.
func TestCachedReadsStayAtOneAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    timeline.CachedRead
	}{
		"answered": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"105"},"items":[]}`)
		}, timeline.CachedRead{Outcome: timeline.Acknowledged, ResourceVersion: 105}},
		"hung up": {hangUp, timeline.CachedRead{Outcome: timeline.Failed}},
		"refused": {status(http.StatusForbidden), timeline.CachedRead{Outcome: timeline.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 2)
			connect, connections := serving(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Host + r.URL.RequestURI()
				c.handler(w, r)
			})
			there, err := connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pinned := &rest.Config{Host: "http://name.test:9443", Dial: func(ctx context.Context, network, _ string) (net.Conn,
				error) {
				return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(there.Host, "http://"))
			}}
			j := journal()
			p := &load.CachedReader{Shoot: "alpha", Actor: "user", Connect: func(context.Context) (*rest.Config, error) {
				return pinned, nil
			}}
			for range 2 {
				if err := p.Sample(t.Context(), j); err != nil {
					t.Fatal(err)
				}
				if got := <-asked; got != "name.test:9443/api/v1/namespaces?resourceVersion=0" {
					t.Errorf("asked %s", got)
				}
			}
			if n := connections.Load(); n != 2 {
				t.Errorf("%d connections for two reads", n)
			}
			_, got, _ := timeline.First[timeline.CachedRead](j.Events())
			if got.Answered < got.Sent || (got.Error == "") != (c.want.Outcome == timeline.Acknowledged) {
				t.Errorf("%+v", got)
			}
			got.Sent, got.Answered, got.Error = 0, 0, ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What nobody has answered in time, as where all is frozen, proves nothing about who would.
func TestACachedReadThatRunsOutOfTimeIsNoRefusal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	connect, _ := serving(t, losing(cancel, silent))
	j := journal()
	if err := (&load.CachedReader{Shoot: "alpha", Actor: "user", Connect: connect}).Sample(ctx, j); err != nil {
		t.Fatal(err)
	}
	if _, read, _ := timeline.First[timeline.CachedRead](j.Events()); read.Outcome != timeline.Unknown ||
		read.Error == "" {
		t.Errorf("%+v", read)
	}
}

func TestAnUnseenWayIsNoOutage(t *testing.T) {
	t.Parallel()
	lost := func(context.Context) (*rest.Config, error) { return nil, errors.New("no access") }
	j := journal()
	for _, p := range []probe.Probe{
		&load.Writer{Connect: lost, Keys: keys(), PerSecond: 1}, &load.Reachability{Connect: lost},
		&load.CachedReader{Connect: lost},
	} {
		if err := p.Sample(t.Context(), j); err == nil || !strings.Contains(err.Error(), "no access") {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
	if len(j.Events()) > 0 {
		t.Errorf("recorded %v", j.Events())
	}
}

// Tries are no load of their own, however many shoots there are.
func TestReachabilityOfManyShoots(t *testing.T) {
	t.Parallel()
	for beside, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 100 * time.Millisecond,
		5: 100 * time.Millisecond, 20: 400 * time.Millisecond} {
		if got := (&load.Reachability{Beside: beside}).Pace().Every; got != want {
			t.Errorf("each of %d shoots is tried every %v, want %v", beside, got, want)
		}
	}
}

// resuming is a server by TLS, how to reach it, how many connections it got and how many of these were resumed.
func resuming(t *testing.T, handler http.HandlerFunc) (config *rest.Config, connections, resumed *atomic.Int32) {
	t.Helper()
	connections, resumed = &atomic.Int32{}, &atomic.Int32{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		handler(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	config = &rest.Config{Host: server.URL, BearerToken: "one"}
	config.ContentType = "application/json"
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return config, connections, resumed
}

// A load of twenty writes a second would otherwise take most of its processor time to agree on keys.
func TestFreshConnections_AllButTheFirst_ResumeASession(t *testing.T) {
	t.Parallel()
	config, connections, resumed := resuming(t, made)
	connect := func(context.Context) (*rest.Config, error) { return rest.CopyConfig(config), nil }
	probes := []probe.Probe{
		&load.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10},
		&load.CachedReader{Shoot: "alpha", Connect: connect},
	}
	for i, p := range probes {
		for range 3 {
			if err := p.Sample(t.Context(), journal()); err != nil {
				t.Fatal(err)
			}
		}
		if all, again := connections.Load(), resumed.Load(); all != int32(3*(i+1)) || again != int32(2*(i+1)) {
			t.Errorf("after %s: %d connections, %d resumed, want 3 and 2 of each probe", p.Name(), all, again)
		}
	}
}

// Every attempt is a connection of its own, of which all but the first resume what was agreed before; with another
// access it is agreed anew.
func TestReachabilityOpensConnections(t *testing.T) {
	t.Parallel()
	access, connections, resumed := resuming(t, func(http.ResponseWriter, *http.Request) {})
	reach := &load.Reachability{Shoot: "alpha", Connect: func(context.Context) (*rest.Config, error) {
		return rest.CopyConfig(access), nil
	}}
	j := journal()
	for i, want := range []int32{0, 1, 2, 2, 3} {
		if i == 3 {
			access.BearerToken = "two"
		}
		if err := reach.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		if connections.Load() != int32(i+1) || resumed.Load() != want {
			t.Errorf("attempt %d: %d connections, of which %d were resumed, want %d", i+1, connections.Load(), resumed.Load(),
				want)
		}
	}
	access.CAData = []byte("-----BEGIN CERTIFICATE-----\nnobody\n-----END CERTIFICATE-----\n")
	if err := reach.Sample(t.Context(), j); err == nil {
		t.Error("who is no longer trusted is reached by what was agreed before")
	}
	for e, p := range timeline.Of[timeline.Reached](j.Events()) {
		if p.Outcome != timeline.Acknowledged {
			t.Errorf("attempt %d: %s, %s", e.Seq, p.Outcome, p.Error)
		}
	}
}

func TestReachability(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    timeline.Outcome
	}{
		"answers":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, timeline.Acknowledged},
		"store is away":  {status(http.StatusInternalServerError), timeline.Failed},
		"hangs":          {nil, timeline.Failed},
		"hangs up":       {hangUp, timeline.Failed},
		"something else": {status(http.StatusNotFound), timeline.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			handler := c.handler
			if handler == nil {
				handler = losing(cancel, silent)
			}
			connect, _ := serving(t, handler)
			j := journal()
			if err := (&load.Reachability{Shoot: "alpha", Connect: connect}).Sample(ctx, j); err != nil {
				t.Fatal(err)
			}
			if _, seen, _ := timeline.First[timeline.Reached](j.Events()); seen.Outcome != c.want {
				t.Errorf("%+v, want %s", seen, c.want)
			}
		})
	}
}

func TestUsersOpenANewConnectionPerSample(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]bool{"new ones": false, "one that is kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connect, connections := serving(t, made)
			w := &load.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10, Keep: keep}
			samples := int32(0)
			sample := func() {
				samples++
				if err := w.Sample(t.Context(), journal()); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				sample()
			}
			// On a busy machine net/http gives up a connection whose request took long to be sent.
			for keep && connections.Load() == samples && samples < 200 {
				sample()
			}
			if got := connections.Load(); keep != (got < samples) || got > samples {
				t.Errorf("%d connections for %d samples", got, samples)
			}
		})
	}
}

// A request is sent once: after a second one nobody would know what became of the first.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	connect, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Retry-After", "0")
		status(http.StatusServiceUnavailable)(w, r)
	})
	j := journal()
	for range 4 {
		if err := (&load.Writer{Connect: connect, Keys: keys(), PerSecond: 10}).Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	if got := requests.Load(); got != 4 {
		t.Errorf("%d requests for 4 writes", got)
	}
	for _, write := range timeline.Of[timeline.Write](j.Events()) {
		if write.Outcome != timeline.Unknown {
			t.Errorf("%+v", write)
		}
	}
}

// A key is left alone after a write whose outcome is unknown, and written by one write at a time: else the data at the
// end would not show which write is lost.
func TestKeysAreLeftAloneAfterTheUnknown(t *testing.T) {
	t.Parallel()
	var count atomic.Int32
	connect, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1)%3 == 0 {
			status(http.StatusInternalServerError)(w, r)
			return
		}
		made(w, r)
	})
	j := journal()
	w := &load.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10}
	for range 120 {
		if err := w.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	unknown, patched := map[string]bool{}, 0
	created := map[string]bool{}
	for _, write := range timeline.Of[timeline.Write](j.Events()) {
		if unknown[write.Key] {
			t.Errorf("%s is written again after an unknown write", write.Key)
		}
		unknown[write.Key] = write.Outcome == timeline.Unknown
		if write.Verb == "patch" {
			patched++
			if !created[write.Key] {
				t.Errorf("%s is patched before it was created", write.Key)
			}
		}
		created[write.Key] = created[write.Key] || write.Outcome == timeline.Acknowledged
	}
	if patched == 0 {
		t.Error("no key was written twice")
	}
}

func TestPreloadedObjectsAreInTheData(t *testing.T) {
	t.Parallel()
	_, _, connect := worldtest.Ready(t, 0)
	j := journal()
	if err := load.Preload(t.Context(), "alpha", worldtest.ClientOf(t, connect), keys(), 30, j); err != nil {
		t.Fatal(err)
	}
	if err := load.Data(t.Context(), "alpha", connect, j); err != nil {
		t.Fatal(err)
	}
	_, data, _ := timeline.First[timeline.DataSeen](j.Events())
	written, found := map[string]int{}, map[string]int{}
	for _, w := range timeline.Of[timeline.Write](j.Events()) {
		written[w.Key] = w.Number
	}
	for _, key := range data.Keys {
		found[key.Key] = key.Number
	}
	if diff := cmp.Diff(written, found); diff != "" || len(found) != 30 {
		t.Errorf("%d keys (-written +found):\n%s", len(found), diff)
	}
}

// The client goes on from what it has seen, and starts over when the server asks it to.
func TestRevisionsGoOnOrStartOver(t *testing.T) {
	t.Parallel()
	var watches atomic.Int32
	asked := make(chan string, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	connect, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") == "" {
			w.Header().Set("Content-Type", "application/json")
			version := "5"
			if watches.Load() > 1 {
				version = "100"
			}
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[]}`, version)
			return
		}
		asked <- query.Get("resourceVersion")
		switch watches.Add(1) {
		case 1:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x",`+
				`"resourceVersion":"9"}}}`)
		case 2:
			status(http.StatusGone)(w, r)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			losing(cancel, silent)(w, r)
		}
	})
	j := journal()
	r := &load.Revisions{Shoot: "alpha", Actor: "user", Connect: connect}
	for range 2 {
		if err := r.Follow(t.Context(), j); err == nil {
			t.Error("the watch has not ended")
		}
	}
	if err := r.Follow(ctx, j); err != nil {
		t.Error(err)
	}
	var seen []timeline.VersionsSeen
	for _, v := range timeline.Of[timeline.VersionsSeen](j.Events()) {
		seen = append(seen, v)
	}
	want := []timeline.VersionsSeen{
		{Resource: "configmaps", Source: "list", Versions: []int64{5}},
		{Resource: "configmaps", Source: "watch", Versions: []int64{9}},
		{Resource: "configmaps", Source: "list", Versions: []int64{100}, Gone: true, Status: 410},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"5", "9", "100"}, []string{<-asked, <-asked, <-asked}); diff != "" {
		t.Errorf("watched from (-want +got):\n%s", diff)
	}
}
