package link_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server, and the authorities that client and link trust.
type world struct {
	t        testing.TB
	ca       *pki.Authority // of the links, and of the server
	upstream *httptest.Server
}

// newWorld serves a handler over HTTPS, HTTP/2 included, as 127.0.0.1 and api.test.
func newWorld(t testing.TB, handler http.Handler) *world {
	t.Helper()
	ca, err := pki.NewAuthority("transplant-links", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ca: ca}
	w.upstream = w.serve("127.0.0.1:0", handler, nil, "127.0.0.1", "api.test", "localhost")
	return w
}

// serve starts another server of this world, and calls watch for its connections.
func (w *world) serve(address string, handler http.Handler, watch func(net.Conn, http.ConnState),
	names ...string) *httptest.Server {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	byName := map[string]*tls.Certificate{}
	for _, name := range names {
		if byName[name], err = w.ca.IssueServing(name, time.Now()); err != nil {
			w.t.Fatal(err)
		}
	}
	server := &httptest.Server{Listener: listener, EnableHTTP2: true,
		Config: &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), ConnState: watch}}
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{*byName[names[0]]},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return byName[hello.ServerName], nil
		},
		NextProtos: []string{"h2", "http/1.1"},
	}
	server.StartTLS()
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// link opens a link to the server.
func (w *world) link(t testing.TB, o link.Options) *link.Link {
	t.Helper()
	certificate, err := w.ca.IssueServing("127.0.0.1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := url.Parse(w.upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.Actor, o.Target, o.Listen, o.Certificate = "gardenlet-a", "garden", "127.0.0.1:0", *certificate
	if o.Upstream == nil {
		o.Upstream = upstream
	}
	if o.UpstreamTLS == nil {
		o.UpstreamTLS = &tls.Config{RootCAs: w.ca.Pool()}
	}
	l, err := link.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// proxy opens a proxy whose hosts resolve as o says.
func (w *world) proxy(t testing.TB, o link.ProxyOptions) *link.Proxy {
	t.Helper()
	o.Actor, o.Listen, o.CA = "user", "127.0.0.1:0", w.ca
	if o.UpstreamRoots == nil {
		o.UpstreamRoots = func(string) *x509.CertPool { return w.ca.Pool() }
	}
	p, err := link.NewProxy(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// client trusts the world and speaks one protocol: "h2" or "http/1.1".
func (w *world) client(protocol string) *http.Client {
	return w.clientOf(&http.Transport{}, protocol)
}

func (w *world) clientOf(transport *http.Transport, protocol string) *http.Client {
	transport.TLSClientConfig = &tls.Config{RootCAs: w.ca.Pool()}
	transport.DisableCompression = true
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(protocol == "http/1.1")
	transport.Protocols.SetHTTP2(protocol == "h2")
	transport.MaxIdleConnsPerHost = 16
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// proxied is a client that goes through a proxy.
func (w *world) proxied(p *link.Proxy) *http.Client {
	address, err := url.Parse(p.URL())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.clientOf(&http.Transport{Proxy: http.ProxyURL(address)}, "h2")
}

// named is the server's URL under a name.
func (w *world) named(host string) string {
	_, port, err := net.SplitHostPort(w.upstream.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	return "https://" + net.JoinHostPort(host, port)
}

func always(address string, ttl time.Duration) forward.ResolveFunc {
	return func(context.Context, string) (string, time.Duration, error) { return address, ttl, nil }
}
