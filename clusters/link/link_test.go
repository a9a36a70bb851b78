package link_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/link"
)

func TestNewErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answer(1))
	l := w.link(t, link.Options{})
	taken := strings.TrimPrefix(l.URL(), "https://")
	upstream := &url.URL{Scheme: "https", Host: "127.0.0.1:1"}
	if _, err := link.New(link.Options{Actor: "a", Target: "b", Listen: taken, Upstream: upstream}); !errors.Is(err,
		syscall.EADDRINUSE) ||
		!strings.HasPrefix(err.Error(), `open link(a,b): listen on "`+taken+`": `) {
		t.Errorf("a taken address: %v", err)
	}
	if _, err := link.NewProxy(link.ProxyOptions{Actor: "a", Listen: taken}); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.HasPrefix(err.Error(), `open link(a,shoots): listen on "`+taken+`": `) {
		t.Errorf("a taken address of a proxy: %v", err)
	}
	if _, err := link.New(link.Options{Actor: "a", Target: "b"}); err == nil ||
		err.Error() != "open link(a,b): no upstream" {
		t.Errorf("no upstream: %v", err)
	}
}

// A handshake by ML-KEM, which clients and servers in Go would choose, takes twice as much processor time.
func TestLink_BothEnds_AgreeOnKeysWithoutMLKEM(t *testing.T) {
	t.Parallel()
	var behind tls.CurveID
	w := newWorld(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { behind = r.TLS.CurveID }))
	l := w.link(t, link.Options{})
	response, err := w.client("h2").Get(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if before := response.TLS.CurveID; before != tls.X25519 || behind != tls.X25519 {
		t.Errorf("keys by %s before the link and by %s behind it, want %s", before, behind, tls.X25519)
	}
}

// TestPlainUpstream: TLS ends in the link, also where there is none behind it.
func TestPlainUpstream(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Proto))
	}))
	t.Cleanup(plain.Close)
	w := newWorld(t, answer(1))
	if got := wait(t, get(t, w.client("h2"), w.linkTo(t, plain.URL))); got.value != "HTTP/1.1" {
		t.Errorf("got %q, %v", got.value, got.err)
	}
}
