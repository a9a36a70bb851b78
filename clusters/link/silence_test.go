package link_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// short is a limit that a client reaches at once; the other limit of the same link is the default.
const short = 50 * time.Millisecond

// closed waits until the other side closes the connection; false if it does not for as long as that may take.
func closed(c net.Conn, within time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := io.Copy(io.Discard, c)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.NewReplacer("https://", "", "http://", "").Replace(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// secured is a connection after its handshake.
func (w *world) secured(c net.Conn, protocol string) net.Conn {
	s := tls.Client(c, &tls.Config{RootCAs: w.ca.Pool(), ServerName: "127.0.0.1", NextProtos: []string{protocol}})
	_ = s.Handshake() // one that comes too late is closed, as is wanted
	return s
}

func TestSilence_ClientWithoutRequest_IsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	direct := w.link(t, link.Options{Silence: wire.Silence{First: short}}).URL()
	proxy := w.proxy(t, link.ProxyOptions{Resolve: always("127.0.0.1", time.Minute),
		Silence: wire.Silence{First: short}}).URL()
	for name, c := range map[string]struct {
		address string
		begin   func(net.Conn) net.Conn
	}{
		"nothing": {direct, func(c net.Conn) net.Conn { return c }},
		"half a handshake": {direct, func(c net.Conn) net.Conn {
			_, _ = c.Write([]byte{0x16, 3, 1, 2, 0})
			return c
		}},
		"handshake": {direct, func(c net.Conn) net.Conn { return w.secured(c, "http/1.1") }},
		"half a header": {direct, func(c net.Conn) net.Conn {
			s := w.secured(c, "http/1.1")
			_, _ = io.WriteString(s, "GET / HTTP/1.1\r\nHost: x\r\n")
			return s
		}},
		"CONNECT": {proxy, func(c net.Conn) net.Conn {
			_, _ = io.WriteString(c, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
			return c
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !closed(c.begin(dial(t, c.address)), patience) {
				t.Error("the connection stays")
			}
		})
	}
}

// Who has asked once may be silent for a while, and as long as it likes while it is answered.
func TestSilence_ClientBetweenRequests_IsClosed(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/", answer(1))
	watches := map[string]*stream{"h2": newStream(nil), "http/1.1": newStream(nil)}
	for protocol, watch := range watches {
		mux.Handle("/watch/"+protocol, watch)
	}
	w := newWorld(t, mux)
	l := w.link(t, link.Options{Silence: wire.Silence{Next: short}})
	bodies := map[string]io.Reader{}
	for protocol := range watches {
		bodies[protocol] = open(t, w.client(protocol), l.URL()+"/watch/"+protocol).Body
	}

	s := w.secured(dial(t, l.URL()), "http/1.1")
	if _, err := io.WriteString(s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	if !closed(s, patience) {
		t.Error("HTTP/1.1: the connection stays")
	}

	s = w.secured(dial(t, l.URL()), "h2")
	if _, err := io.WriteString(s, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := http2.NewFramer(s, s).WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if !closed(s, patience) {
		t.Error("HTTP/2: the connection stays")
	}

	for protocol, body := range bodies {
		watches[protocol].send(t, "still here\n")
		expectChunk(t, body, "still here\n")
	}
}

// A fault that holds bytes back makes a client look silent: its connection stays, and has the whole time again after.
func TestSilence_WhileAFaultHolds_IsNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	for _, f := range []link.Fault{wire.Latency{Delay: time.Hour}, wire.Latency{Delay: time.Hour,
		Direction: wire.ToClient}, wire.Cut{}} {
		l := w.link(t, link.Options{Silence: wire.Silence{First: short}})
		free := w.link(t, link.Options{Silence: wire.Silence{First: short}})
		heal := l.Inject(f)
		c := dial(t, l.URL())
		for range 3 {
			if !closed(dial(t, free.URL()), patience) {
				t.Fatal("without a fault the connection stays")
			}
		}
		if closed(c, time.Millisecond) {
			t.Errorf("%s: the connection was closed", f.Name())
		}
		heal()
		if !closed(c, patience) {
			t.Errorf("%s: after the heal the connection stays", f.Name())
		}
	}
}

// A proxy has room for clients that ask for something, however many connect and are silent.
func TestProxy_FullOfSilentClients_TakesOthers(t *testing.T) {
	t.Parallel()
	u := newTown(t)
	p := u.world.proxy(t, link.ProxyOptions{Resolve: always("127.0.0.1", time.Hour),
		Silence: wire.Silence{First: time.Hour}})
	client := u.proxied(p)
	watch := open(t, client, u.named("localhost")+"/watch") // the first client, so that it would be the first to go
	for i := range 4096 {
		c := dial(t, p.URL())
		if _, err := fmt.Fprintf(c, "CONNECT x%d.test:443 HTTP/1.1\r\nHost: x%[1]d.test:443\r\n\r\n", i); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if response, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil ||
			response.StatusCode != http.StatusOK {
			t.Fatalf("client %d: %v, %v", i, response, err)
		}
	}
	expect(t, client, u.named("api.test"), "0 ")
	u.watch.send(t, "still here\n")
	expectChunk(t, watch.Body, "still here\n")
}
