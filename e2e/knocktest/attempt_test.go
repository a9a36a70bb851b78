package knocktest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/transplant-sim/transplant/api/pki"
)

// certificate of an authority that nobody else knows, for a name.
func certificate(t *testing.T, authority *pki.Authority, name string) *TLS {
	t.Helper()
	pair, err := authority.Issue(pki.Request{Name: name}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made := &TLS{}
	if made.Certificate, made.Key, err = pki.PEM(pair); err != nil {
		t.Fatal(err)
	}
	return made
}

func authority(t *testing.T) *pki.Authority {
	t.Helper()
	made, err := pki.NewAuthority("ca", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// server of TLS that takes clients of the authority alone, unless it is nil, and answers with what it was asked.
func server(t *testing.T, clients *pki.Authority) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.String()) // the client says what it got
	}))
	if clients != nil {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients.Pool()}
	}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// closed is an address at which nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// proxy leads CONNECT to one address, and refuses those without a header.
func proxy(t *testing.T, to string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Header.Get("To") == "" {
			http.Error(w, "no way to "+r.Host, http.StatusForbidden)
			return
		}
		upstream, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer upstream.Close()
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer client.Close()
		_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // the client sees
		go func() { _, _ = io.Copy(upstream, client) }()                             // until either ends
		_, _ = io.Copy(client, upstream)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestAttempt_EachRefusal_IsSaid(t *testing.T) {
	t.Parallel()
	ours, theirs := authority(t), authority(t) // of the same name
	open, secured := server(t, nil), server(t, ours)
	forged := certificate(t, theirs, "gardenlet")
	forged.Forged = true
	other, err := pki.NewAuthority("another", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"To": {"it"}}
	for name, c := range map[string]struct {
		attempt Attempt
		want    Outcome
	}{
		"without a certificate": {Attempt{Address: secured, TLS: &TLS{}, Method: "POST", Path: "/fence"},
			Outcome{Alert: "tls: certificate required"}},
		"with one that is not accepted": {Attempt{Address: secured, TLS: certificate(t, other, "gardenlet"), Method: "GET"},
			Outcome{Alert: "tls: certificate required"}}, // it is not shown
		"with a forged one": {Attempt{Address: secured, TLS: forged, Method: "POST", Path: "/fence"},
			Outcome{Alert: "tls: unknown certificate authority"}},
		"with the right one": {Attempt{Address: secured, TLS: certificate(t, ours, "gardenlet"), Method: "POST",
			Path: "/fence?epoch=1", Token: "t"}, Outcome{Status: 200, Body: "POST /fence?epoch=1"}},
		"with the right one, and no question": {Attempt{Address: secured, TLS: certificate(t, ours, "gardenlet")}, Outcome{}},
		"without a token": {Attempt{Address: open, TLS: &TLS{}, Method: "GET", Path: "/a"},
			Outcome{Status: 401, Body: "GET /a"}},
		"without TLS": {Attempt{Address: secured, Method: "GET", Path: "/a"},
			Outcome{Status: 400, Body: "Client sent an HTTP request to an HTTPS server.\n"}},
		"through a tunnel": {Attempt{Address: proxy(t, open), Tunnel: &Tunnel{Target: "a.test:443", Header: header},
			TLS: &TLS{ServerName: "a.test"}, Method: "GET", Path: "/a", Token: "t"}, Outcome{Status: 200, Body: "GET /a"}},
		"through a tunnel, without a certificate": {Attempt{Address: proxy(t, secured),
			Tunnel: &Tunnel{Target: "a.test:443", Header: header}, TLS: &TLS{}, Method: "GET"},
			Outcome{Alert: "tls: certificate required"}},
		"without a tunnel": {Attempt{Address: proxy(t, open), Tunnel: &Tunnel{Target: "a.test:443"}, TLS: &TLS{},
			Method: "GET"}, Outcome{Status: 403, Body: "no way to a.test:443\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := json.Marshal(c.attempt)
			if err != nil {
				t.Fatal(err)
			}
			var carried Attempt // as a pod gets it
			if err := json.Unmarshal(content, &carried); err != nil {
				t.Fatal(err)
			}
			if got := carried.Make(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAttempt_NobodyListens_IsNoRefusal(t *testing.T) {
	t.Parallel()
	got := Attempt{Address: closed(t), TLS: &TLS{}, Method: "GET", Path: "/"}.Make()
	if !strings.Contains(got.Failed, "connection refused") || got.Alert != "" || got.Status != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAttempt_UpdateOfARecord_IsAnsweredByDNS(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan *dns.Msg, 1)
	s := &dns.Server{PacketConn: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		asked <- m
		reply := new(dns.Msg).SetReply(m)
		reply.Rcode = dns.RcodeNotImplemented
		_ = w.WriteMsg(reply) // the client says what it got
	})}
	// What MsgAcceptFunc refuses by itself never comes to a handler.
	s.MsgAcceptFunc = func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }
	go func() { _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown() })
	got := Attempt{Address: listener.LocalAddr().String(), Record: "owner.alpha.p.shoots.test"}.Make()
	if want := (Outcome{Failed: "the DNS server answers NOTIMP"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if m := <-asked; m.Opcode != dns.OpcodeUpdate || m.Question[0].Name != "shoots.test." || len(m.Ns) != 1 {
		t.Errorf("the server was asked %v", m)
	}
	if got := (Attempt{Address: "127.0.0.1:1", Record: "owner.alpha"}).Make(); !strings.Contains(got.Failed,
		"too few labels") {
		t.Errorf("got %+v", got)
	}
}

func TestOutcome_Err_IsNilForWhoIsLetInAlone(t *testing.T) {
	t.Parallel()
	for want, outcome := range map[string]Outcome{
		"":                         {Status: 204},
		"remote error: tls: no":    {Alert: "tls: no"},
		"403 may not":              {Status: 403, Body: "may not"},
		"dial: connection refused": {Failed: "dial: connection refused"},
		"500 ":                     {Status: 500},
	} {
		got := ""
		if err := outcome.Err(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: got %q, want %q", outcome, got, want)
		}
	}
}
