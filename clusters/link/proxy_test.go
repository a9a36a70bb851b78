package link_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// names is a DNS server whose answers a test changes, and which counts how often it is asked.
type names struct {
	mu      sync.Mutex
	address string
	ttl     time.Duration
	err     error
	only    string // the host that there is; empty when every host is
	asked   []string
}

func (n *names) resolve(_ context.Context, host string) (string, time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	if n.only != "" && host != n.only {
		return "", 0, errUnknownHost
	}
	return n.address, n.ttl, n.err
}

func (n *names) set(address string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.address, n.err = address, err
}

func (n *names) questions() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

// town is two servers at one port of two addresses, and a proxy that finds them by name.
type town struct {
	*world
	*names
	clock *testingclock.FakeClock
	proxy *link.Proxy
	watch *stream
	// open counts the servers' connections; sni is the names they were asked for.
	open [2]atomic.Int64
	sni  sync.Map
}

func newTown(t *testing.T) *town {
	t.Helper()
	u := &town{
		watch: newStream(nil),
		names: &names{address: "127.0.0.1", ttl: 30 * time.Second},
		clock: testingclock.NewFakeClock(time.Now()),
	}
	ca, err := pki.NewAuthority("transplant-links", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	u.world = &world{t: t, ca: ca}
	u.upstream = u.serve("127.0.0.1:0", u.house(0), u.count(0), "127.0.0.1", "api.test", "localhost",
		"other.test")
	u.proxy = u.world.proxy(t, link.ProxyOptions{Resolve: u.resolve, Clock: u.clock})
	return u
}

// second starts the second server, at the first one's port.
func (u *town) second(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(u.upstream.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	u.serve("127.0.0.2:"+port, u.house(1), u.count(1), "api.test")
}

// lose closes the first server's connections and returns when the link knows: a request that still enters a dying
// connection ends with it, as it would without a link.
func (u *town) lose(t *testing.T, client *http.Client, url string) {
	t.Helper()
	watch := open(t, client, url+"/watch")
	u.upstream.CloseClientConnections()
	_, _ = io.Copy(io.Discard, watch.Body)
}

func (u *town) count(n int) func(net.Conn, http.ConnState) {
	return func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			u.open[n].Add(1)
		case http.StateClosed:
			u.open[n].Add(-1)
		}
	}
}

func (u *town) house(n int) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/watch", u.watch)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		u.sni.Store(r.TLS.ServerName, true)
		_, _ = fmt.Fprintf(w, "%d %s", n, r.Host)
	})
	return mux
}

func expect(t *testing.T, client *http.Client, url, want string) {
	t.Helper()
	if got := wait(t, get(t, client, url)); got.err != nil || !strings.HasPrefix(got.value, want) {
		t.Errorf("got %q, %v; want %q", got.value, got.err, want)
	}
}

func TestProxyGoesByName(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	client, url := u.proxied(u.proxy), u.named("api.test")
	for range 3 {
		expect(t, client, url, "0 "+strings.TrimPrefix(url, "https://"))
	}
	if _, ok := u.sni.Load("api.test"); !ok {
		t.Error("the server was not asked for api.test")
	}
	if diff := cmp.Diff([]string{"api.test"}, u.asked); diff != "" {
		t.Errorf("questions to DNS (-want +got):\n%s", diff)
	}
	l := u.proxy.Link("API.test.")
	if l.Name() != "link(user,shoot/api.test)" || l.Stats().Requests != 3 || l.URL() != "https://api.test" {
		t.Errorf("%s at %s counts %+v", l.Name(), l.URL(), l.Stats())
	}
	if links := u.proxy.Links(); len(links) != 1 || links[0] != l {
		t.Errorf("the proxy has the links %v", links)
	}
	// Bytes are counted when they have been written, which may be after the client has read them.
	eventually(t, "the proxy counts what its link counts", func() bool { return u.proxy.Stats() == l.Stats() })
}

// TestProxyKeepsAnswer: an address is kept for its TTL and no longer; idle connections to the old one are dropped.
func TestProxyKeepsAnswer(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	client, url := u.proxied(u.proxy), u.named("api.test")
	u.second(t)
	expect(t, client, url, "0 ")
	u.set("127.0.0.2", nil)
	u.clock.Step(29 * time.Second)
	expect(t, client, url, "0 ")
	if u.questions() != 1 {
		t.Errorf("DNS was asked %d times within the TTL", u.questions())
	}
	u.clock.Step(time.Second)
	expect(t, client, url, "1 ")
	expect(t, client, url, "1 ")
	if u.questions() != 2 {
		t.Errorf("DNS was asked %d times, want once more after the TTL", u.questions())
	}
	eventually(t, "the old address has no connection", func() bool { return u.open[0].Load() == 0 })
	if u.open[1].Load() != 1 {
		t.Errorf("the new address has %d connections", u.open[1].Load())
	}
}

// TestProxyLetsWatchesEnd: what is under way to the old address goes on there, and its connection is dropped after it.
func TestProxyLetsWatchesEnd(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	s := u.watch
	u.second(t)
	client, url := u.proxied(u.proxy), u.named("api.test")
	watch := open(t, client, url+"/watch")
	u.set("127.0.0.2", nil)
	u.clock.Step(time.Minute)
	expect(t, client, url, "1 ")
	s.send(t, "old\n")
	expectChunk(t, watch.Body, "old\n")
	if u.open[0].Load() != 1 {
		t.Fatalf("the old address has %d connections", u.open[0].Load())
	}
	close(s.chunks)
	_, _ = io.Copy(io.Discard, watch.Body)
	eventually(t, "the old address has no connection", func() bool { return u.open[0].Load() == 0 })
}

// TestProxyAsksAgainAfterFailure: an address that does not answer is not believed until its TTL ends.
func TestProxyAsksAgainAfterFailure(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	client, url := u.proxied(u.proxy), u.named("api.test")
	u.second(t)
	expect(t, client, url, "0 ")
	u.lose(t, client, url)
	u.upstream.Close()
	u.set("127.0.0.2", nil)
	u.clock.Step(100 * time.Millisecond)
	expect(t, client, url, "1 ") // the first dial fails, and the name is asked for again
	if u.questions() != 2 {
		t.Errorf("DNS was asked %d times, want once more after the failure", u.questions())
	}
}

func TestProxyWithoutDNS(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	url := u.named("api.test")
	u.set("", errors.New("no such host"))
	if got := wait(t, get(t, u.proxied(u.proxy), url)); got.err == nil ||
		!strings.HasSuffix(got.err.Error(), `link(user,shoot/api.test): resolve "api.test": no such host`) {
		t.Errorf("an unknown name got %q, %v", got.value, got.err)
	}
	u.set("127.0.0.1", nil)
	u.clock.Step(time.Second)
	client := u.proxied(u.proxy)
	expect(t, client, url, "0 ")

	u.set("", errors.New("no answer"))
	u.clock.Step(time.Minute)
	expect(t, client, url, "0 ") // over the connection that is open, as a client's own would work
	asked := u.questions()
	expect(t, client, url, "0 ")
	if u.questions() != asked {
		t.Error("a DNS server that just failed was asked again")
	}
	u.lose(t, client, url)
	if got := wait(t, get(t, client, url)); !strings.Contains(got.value, `resolve "api.test": no answer`) {
		t.Errorf("without DNS and connection: %q, %v", got.value, got.err)
	}
}

// TestProxyAnswersBadly shows the raw answers of CONNECT.
func TestProxyAnswersBadly(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	u.set("", errors.New("no such\r\nhost"))
	for request, want := range map[string]string{
		"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n": "405 link(user,shoots): this is a proxy for CONNECT only",
		"CONNECT api.test HTTP/1.1\r\nHost: api.test\r\n\r\n": "400 link(user,shoots): read the target of CONNECT: " +
			"address api.test: missing port in address",
		"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n\n": `502 link(user,shoot/api.test): ` +
			`resolve "api.test": no such  host`,
	} {
		got := wait(t, raw(t, u.proxy, request))
		if got.err != nil {
			t.Fatal(got.err)
		}
		response := got.value
		text, err := io.ReadAll(response.Body)
		if response.Status != want || err != nil || len(text) == 0 {
			t.Errorf("%q: got %q with %q, %v; want %q", request, response.Status, text, err, want)
		}
	}
}

// raw sends bytes to a proxy and reads one answer.
func raw(t *testing.T, p *link.Proxy, request string) <-chan result[*http.Response] {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return async(func() (*http.Response, error) { return http.ReadResponse(bufio.NewReader(conn), nil) })
}

// TestProxyVerifiesUpstream: a host is trusted by its own roots only.
func TestProxyVerifiesUpstream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	p := w.proxy(t, link.ProxyOptions{
		Resolve:       always("127.0.0.1", time.Minute),
		UpstreamRoots: func(string) *x509.CertPool { return x509.NewCertPool() },
	})
	if got := wait(t, get(t, w.proxied(p), w.named("api.test"))); !strings.Contains(got.value,
		"certificate signed by unknown authority") {
		t.Errorf("got %q, %v", got.value, got.err)
	}
}

// TestProxy_Address_IsRefused: a client that may choose the address would reach the loopback of this machine.
func TestProxy_Address_IsRefused(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	u.proxy.Link("127.0.0.3") // not for those either that somebody has a link to
	for _, host := range []string{"127.0.0.1", "127.0.0.1.", "127.0.0.3", "[::1]", "[::ffff:127.0.0.1]"} {
		if status, err := connect(t.Context(), u.proxy, host); err != nil || status != http.StatusForbidden {
			t.Errorf("%s: %d, %v", host, status, err)
		}
	}
	if links := u.proxy.Links(); u.questions() != 0 || len(links) != 1 {
		t.Errorf("DNS was asked for %v, and there are the links %v", u.asked, links)
	}
}

// TestProxyFaults: each host is a link of its own.
func TestProxyFaults(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	sick, well := u.named("api.test"), u.named("localhost")
	i := u.proxy.Link("api.test").Begin(wire.Reset{})
	if got := wait(t, get(t, u.proxied(u.proxy), sick)); !isReset(got.err) && !errors.Is(got.err, io.EOF) {
		t.Errorf("got %q, %v; want a reset", got.value, got.err)
	}
	expect(t, u.proxied(u.proxy), well, "0 ")
	if i.Hits() == 0 {
		t.Error("the reset has no hits")
	}
	i.Heal()
	expect(t, u.proxied(u.proxy), sick, "0 ")
}

// TestProxyCut: CONNECT itself hangs, and is refused when the cut refuses.
func TestProxyCut(t *testing.T) {
	t.Parallel()
	for _, direction := range []wire.Direction{wire.Both, wire.ToServer, wire.ToClient} {
		u := newTown(t)
		i := u.proxy.Link("api.test").Begin(wire.Cut{Direction: direction})
		call := get(t, u.proxied(u.proxy), u.named("api.test"))
		eventually(t, "the cut has hit", func() bool { return i.Hits() > 1 })
		select {
		case got := <-call:
			t.Errorf("in a cut %s: %q, %v", direction, got.value, got.err)
		default:
		}
		i.Heal()
		if got := wait(t, call); got.err == nil {
			t.Errorf("after a cut %s: %q, want a dead connection", direction, got.value)
		}
		expect(t, u.proxied(u.proxy), u.named("api.test"), "0 ")
	}
	u := newTown(t)
	defer u.proxy.BeginAll(wire.Cut{Refuse: true}, nil).Heal()
	got := wait(t, get(t, u.proxied(u.proxy), u.named("api.test")))
	if got.err == nil || !strings.HasSuffix(got.err.Error(), "link(user,shoot/api.test): connection refused") {
		t.Errorf("got %q, %v; want a refusal", got.value, got.err)
	}
}

// TestProxyLatency: the CONNECT that names the link is delayed like all the rest.
func TestProxyLatency(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	u.ttl = 24 * time.Hour
	defer u.proxy.BeginAll(wire.Latency{Direction: wire.ToServer, Delay: time.Minute}, nil).Heal()
	call := raw(t, u.proxy, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
	got, took := pass(t, u.clock, time.Second, call)
	if got.value == nil || got.value.StatusCode != http.StatusOK || took < time.Minute {
		t.Errorf("CONNECT was answered with %v after %s, want a minute", got.value, took)
	}
}

// TestSetAll harms the hosts that are known and those to come.
func TestSetAll(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	known, unknown := u.named("localhost"), u.named("api.test")
	client := u.proxied(u.proxy)
	expect(t, client, known, "0 ")
	i := u.proxy.BeginAll(wire.Reset{}, nil)
	if i.Hits() != 1 {
		t.Errorf("%d hits, want 1, by the open connection", i.Hits())
	}
	for _, url := range []string{known, unknown} {
		if got := wait(t, get(t, client, url)); got.err == nil {
			t.Errorf("%s: got %q, want a reset", url, got.value)
		}
	}
	for _, l := range u.proxy.Links() {
		if l.Stats().Hits == 0 || len(l.Injections()) != 1 || l.Injections()[0] != i {
			t.Errorf("%s counts %+v with %v", l.Name(), l.Stats(), l.Injections())
		}
	}
	i.Heal()
	for _, url := range []string{known, unknown, u.named("other.test")} {
		if got := wait(t, get(t, u.proxied(u.proxy), url)); got.err != nil {
			t.Errorf("%s after the heal: %v", url, got.err)
		}
	}
}

// TestProxyClose leaves nothing behind, callers that never say where they want to go included.
func TestProxyClose(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	silent, err := net.Dial("tcp", strings.TrimPrefix(u.proxy.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	expect(t, u.proxied(u.proxy), u.named("api.test"), "0 ")
	if err := u.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	_ = silent.SetReadDeadline(time.Now().Add(patience))
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the silent caller got %v", err)
	}
	late := u.proxy.Link("late.test") // of a closed proxy: closed too
	if err := late.Close(); err != nil {
		t.Error(err)
	}
}
