package probe_test

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
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
	"github.com/transplant-sim/transplant/sim/world/worldtest"
)

func journal() *timeline.Journal { return timeline.NewJournal(clock.RealClock{}, nil) }

// serving is a connector to a server with this handler, which counts its connections.
func serving(t *testing.T, handler http.HandlerFunc) (probe.Connector, *atomic.Int32) {
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

func to(host string) probe.Connector {
	return func(context.Context) (*rest.Config, error) {
		return &rest.Config{Host: host, BearerToken: "t", ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
			nil
	}
}

// linkedTo is a connector to a link to the target.
func linkedTo(t *testing.T, target string, faults ...link.Fault) probe.Connector {
	t.Helper()
	upstream, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := link.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Issue("127.0.0.1")
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

func keys() *probe.Keys { return probe.NewKeys(rand.New(rand.NewPCG(1, 2))) }

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
				connect = linkedTo(t, "https://127.0.0.1:1", link.Fail{Status: http.StatusConflict})
			default:
				connect, _ = serving(t, c.handler)
			}
			j := journal()
			w := &probe.Writer{Shoot: "alpha", Actor: "user", Connect: connect, Keys: keys(), PerSecond: 10}
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
			p := &probe.CachedReader{Shoot: "alpha", Actor: "user", Connect: func(context.Context) (*rest.Config, error) {
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
	if err := (&probe.CachedReader{Shoot: "alpha", Actor: "user", Connect: connect}).Sample(ctx, j); err != nil {
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
		&probe.Writer{Connect: lost, Keys: keys(), PerSecond: 1}, &probe.Reachability{Connect: lost},
		&probe.CachedReader{Connect: lost}, &probe.Nodes{Connect: lost}, &probe.Workload{Connect: lost},
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
		if got := (&probe.Reachability{Beside: beside}).Pace().Every; got != want {
			t.Errorf("each of %d shoots is tried every %v, want %v", beside, got, want)
		}
	}
}

// Every attempt is a connection of its own, of which all but the first resume what was agreed before; with another
// access it is agreed anew.
func TestReachabilityOpensConnections(t *testing.T) {
	t.Parallel()
	var connections, resumed atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	access := &rest.Config{Host: server.URL, BearerToken: "one"}
	access.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	reach := &probe.Reachability{Shoot: "alpha", Connect: func(context.Context) (*rest.Config, error) {
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
			if err := (&probe.Reachability{Shoot: "alpha", Connect: connect}).Sample(ctx, j); err != nil {
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
	const samples = 5
	for name, c := range map[string]struct {
		keep     bool
		min, max int32
	}{
		"new ones": {false, samples, samples},
		// On a busy machine net/http gives up a connection now and then whose request took long to be sent.
		"one that is kept": {true, 1, samples - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connect, connections := serving(t, made)
			w := &probe.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10, Keep: c.keep}
			for range samples {
				if err := w.Sample(t.Context(), journal()); err != nil {
					t.Fatal(err)
				}
			}
			if got := connections.Load(); got < c.min || got > c.max {
				t.Errorf("%d connections, want %d to %d", got, c.min, c.max)
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
		if err := (&probe.Writer{Connect: connect, Keys: keys(), PerSecond: 10}).Sample(t.Context(), j); err != nil {
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
	w := &probe.Writer{Shoot: "alpha", Connect: connect, Keys: keys(), PerSecond: 10}
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

// ready is a small world with the shoot alpha on seed a, and the connectors to it.
func ready(t *testing.T, workers int) (*worldtest.World, *world.Clients, probe.Connector) {
	t.Helper()
	w := worldtest.New(t, "a", "b")
	clients, _, _ := worldtest.SetUp(t, w, workers)
	connect := func(ctx context.Context) (*rest.Config, error) { return w.ConnectShoot(ctx, "alpha", world.Observer) }
	until(t, func() bool { _, err := connect(t.Context()); return err == nil })
	return w, clients, connect
}

func until(t *testing.T, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !there(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was awaited did not come")
		}
	}
}

func clientOf(t *testing.T, connect probe.Connector) kubernetes.Interface {
	t.Helper()
	config, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(world.Unlimited(config))
}

func TestPreloadedObjectsAreInTheData(t *testing.T) {
	t.Parallel()
	_, _, connect := ready(t, 0)
	j := journal()
	if err := probe.Preload(t.Context(), "alpha", clientOf(t, connect), keys(), 30, j); err != nil {
		t.Fatal(err)
	}
	if err := probe.Data(t.Context(), "alpha", connect, j); err != nil {
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

func TestNodesAreRecordedWhenTheyChange(t *testing.T) {
	t.Parallel()
	_, _, connect := ready(t, 2)
	j := journal()
	nodes := &probe.Nodes{Shoot: "alpha", Connect: connect}
	sample := func() []timeline.NodeSeen {
		before := len(j.Events())
		if err := nodes.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var fresh []timeline.NodeSeen
		for _, n := range timeline.Of[timeline.NodeSeen](j.Events()[before:]) {
			fresh = append(fresh, n)
		}
		return fresh
	}
	first := sample()
	if len(first) != 2 || first[0].Name != "node-0" || first[0].UID == "" || first[0].BootID != "boot" ||
		first[0].Ready != "True" || first[0].Renewed == "" {
		t.Errorf("at first %+v", first)
	}
	if again := sample(); len(again) != 0 {
		t.Errorf("without a change %+v", again)
	}
	if err := clientOf(t, connect).CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]timeline.NodeSeen{{Name: "node-1", Gone: true}}, sample()); diff != "" {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
}

func TestEpochsAndRevisions(t *testing.T) {
	t.Parallel()
	w, _, _ := ready(t, 0)
	j := journal()
	if err := (&probe.Epochs{Shoot: "alpha", World: w}).Sample(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	_, seen, _ := timeline.First[timeline.EpochSeen](j.Events())
	if seen.Seed != "a" || seen.Epoch != 1 || seen.Remaining <= 0 || seen.Revision == 0 || seen.Answered < seen.Sent {
		t.Errorf("%+v", seen)
	}
}

// trusting is a world whose control planes are known by a certificate authority.
type trusting struct {
	world.Shoots
	authority []byte
}

func (t trusting) ControlPlanes(ctx context.Context, shoot string) ([]world.ControlPlane, error) {
	planes, err := t.Shoots.ControlPlanes(ctx, shoot)
	for i := range planes {
		planes[i].API = rest.CopyConfig(planes[i].API)
		planes[i].API.CAData, planes[i].ShootUID = t.authority, "of alpha"
	}
	return planes, err
}

// Nobody answers to an authority that is none, but by which one the shoot is known is seen all the same.
func TestEpochs_AnotherAuthority_HasAnotherDigest(t *testing.T) {
	t.Parallel()
	w, _, _ := ready(t, 0)
	digest := func(authority string) string {
		j := journal()
		_ = (&probe.Epochs{Shoot: "alpha", World: trusting{w, []byte(authority)}}).Sample(t.Context(), j)
		_, seen, found := timeline.First[timeline.EpochSeen](j.Events())
		if !found {
			t.Fatal("no epoch was seen")
		}
		if seen.ShootUID != "of alpha" {
			t.Errorf("the authority is of Shoot %q", seen.ShootUID)
		}
		return seen.Authority
	}
	if one, same, other := digest("one"), digest("one"), digest("other"); one == "" || one != same || one == other ||
		digest("") != "" {
		t.Errorf("the digests are %q, %q and %q", one, same, other)
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
	r := &probe.Revisions{Shoot: "alpha", Actor: "user", Connect: connect}
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

func TestTheStateOfAShootIsFollowed(t *testing.T) {
	t.Parallel()
	w, clients, _ := ready(t, 0)
	garden, err := clients.Cluster(landscape.Garden)
	if err != nil {
		t.Fatal(err)
	}
	j := journal()
	follower := &probe.Shoots{Shoot: "alpha", Key: w.ShootKey("alpha"), Garden: garden}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- follower.Follow(ctx, j) }()
	states := func() []string {
		var all []string
		for _, s := range timeline.Of[timeline.ShootSeen](j.Events()) {
			all = append(all, strings.TrimSpace(s.StatusSeed+" "+s.Operation.Type+" "+s.Operation.State))
		}
		return all
	}
	until(t, func() bool { return slices.Contains(states(), "a Create Succeeded") })
	patch(t, clients, w, `{"spec":{"seedName":"b","unmodelledByTransplant":["kept"]}}`)
	until(t, func() bool { return slices.Contains(states(), "b Restore Succeeded") })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, s := range timeline.Of[timeline.ShootSeen](j.Events()) {
		if want := map[bool]string{true: `["kept"]`}[s.SpecSeed == "b"]; s.Unmodelled != want {
			t.Errorf("bound to %q, the shoot has %q besides what our types know, want %q", s.SpecSeed, s.Unmodelled, want)
		}
	}
	for _, want := range []string{"a Migrate Processing", "a Migrate Succeeded", "b Restore Processing"} {
		if !slices.Contains(states(), want) {
			t.Errorf("%s was missed: %v", want, states())
		}
	}
}

func TestTheLedgerIsFollowed(t *testing.T) {
	t.Parallel()
	started := time.Now().Add(-time.Minute)
	ledger := &ledger{entries: []cloud.LedgerEntry{
		{Seq: 1},
		{Seq: 2, Time: started.Add(3 * time.Second), Identity: "extensions-a", Verb: "create", Kind: "machines", ID: "m",
			Outcome: "OK", Object: json.RawMessage(`{"values":["no name"]}`), Scope: cloud.Scope{Shoot: "s", Epoch: 4}},
		{Seq: 3, Time: started.Add(4 * time.Second), Identity: "extensions-a", Verb: "put", Kind: "records", ID: "z/A/api.s",
			Name: "api.s", Outcome: "OK", Object: json.RawMessage(`{"name":"api.s","values":["127.1.2.3"]}`),
			Scope: cloud.Scope{Shoot: "s", Epoch: 4}},
	}}
	p := &probe.Ledger{Cloud: ledger, Started: started, After: 1}
	j := journal()
	for range 2 {
		if err := p.Sample(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	ledger.fail = errors.New("away")
	if err := p.Sample(t.Context(), j); err == nil || !strings.Contains(err.Error(), "behind entry 3: away") {
		t.Errorf("error %v", err)
	}
	want := []timeline.Event{{Seq: 1, Kind: "CloudCalled", Actor: "extensions-a", Subject: "s",
		Payload: timeline.CloudCalled{
			Number: 2, Epoch: 4, Verb: "create", What: "machines", ID: "m", Outcome: "OK", Took: true,
			Made: timeline.Moment(3 * time.Second),
		}}, {Seq: 2, Kind: "CloudCalled", Actor: "extensions-a", Subject: "s", Payload: timeline.CloudCalled{
		Number: 3, Epoch: 4, Verb: "put", What: "records", ID: "z/A/api.s", Name: "api.s", Values: []string{"127.1.2.3"},
		Outcome: "OK", Took: true, Made: timeline.Moment(4 * time.Second),
	}}}
	got := slices.Clone(j.Events())
	for i := range got {
		got[i].At = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type ledger struct {
	entries []cloud.LedgerEntry
	fail    error
}

func (l *ledger) Ledger(_ context.Context, query cloud.LedgerQuery) ([]cloud.LedgerEntry, error) {
	var found []cloud.LedgerEntry
	for _, e := range l.entries {
		if e.Seq > query.After {
			found = append(found, e)
		}
	}
	return found, l.fail
}
