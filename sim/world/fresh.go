package world

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// FreshTransport opens a new connection for each request and closes it after it. client-go would share connections
// among all clients with the same configuration.
//
// A connection resumes the session of the one before. It does so by TLS 1.2, where that takes neither a proof of who
// the ends are nor an agreement on new keys: most of what a connection costs. A server that has not agreed on that
// session has to prove who it is.
func FreshTransport(config *rest.Config) (http.RoundTripper, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("build the TLS configuration: %w", err)
	}
	if trust == nil {
		trust = &tls.Config{}
	}
	trust.ClientSessionCache, trust.MaxVersion = tls.NewLRUClientSessionCache(1), tls.VersionTLS12
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return rest.HTTPWrappersForConfig(config, &fresh{dial: dial, proxy: config.Proxy, trust: trust})
}

// fresh does all for a request in the goroutine of its caller, by HTTP/1.1. An http.Transport starts four more for each
// connection: loads open tens of them a second, and cost the engine a quarter less without.
type fresh struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	proxy func(*http.Request) (*url.URL, error) // nil for none
	trust *tls.Config
}

var _ http.RoundTripper = &fresh{}

// RoundTrip sends the request once. The connection ends with the body of the answer, or with the request's context.
func (f *fresh) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	ctx, target, via := r.Context(), hostPort(r.URL), (*url.URL)(nil)
	if f.proxy != nil {
		var err error
		if via, err = f.proxy(r); err != nil {
			return nil, err
		}
	}
	at := target
	if via != nil {
		at = hostPort(via)
	}
	socket, err := f.dial(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	stop := interrupt(ctx, socket)
	if via != nil {
		err = connect(socket, target)
	}
	connection := socket
	if err == nil && r.URL.Scheme == "https" {
		connection, err = f.secure(ctx, socket, r.URL.Hostname())
	}
	var answer *http.Response
	if err == nil {
		answer, err = exchange(connection, r)
	}
	if err != nil {
		stop()
		_ = socket.Close()
		return nil, cmp.Or(ctx.Err(), err) // what has ended the request, not what that broke
	}
	answer.Body = &lastBody{answer.Body, stop, connection}
	return answer, nil
}

// interrupt what goes on at a socket when ctx ends, until stop is called.
func interrupt(ctx context.Context, socket net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
}

func hostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))
}

// connect asks a proxy for the way to a target. Its error is what the proxy says in its status line.
func connect(socket net.Conn, target string) error {
	if _, err := fmt.Fprintf(socket, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target); err != nil {
		return err
	}
	// The target says nothing before it is spoken to, so that nothing of it is read here.
	answer, err := http.ReadResponse(bufio.NewReader(socket), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if _, text, _ := strings.Cut(answer.Status, " "); answer.StatusCode != http.StatusOK {
		return errors.New(text)
	}
	return nil
}

func (f *fresh) secure(ctx context.Context, socket net.Conn, host string) (net.Conn, error) {
	trust := f.trust.Clone()
	trust.ServerName = cmp.Or(trust.ServerName, host)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer interrupt(ctx, socket)()
	secured := tls.Client(socket, trust)
	if err := secured.Handshake(); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	return secured, nil
}

// exchange a request for the head of its answer. Once its first byte may have left, it counts as sent.
func exchange(connection net.Conn, r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	last := *r
	last.Close = true
	out := bufio.NewWriter(connection)
	if err := errors.Join(last.Write(out), out.Flush()); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(connection), &last)
}

// lastBody is the body of an answer after which the connection ends.
type lastBody struct {
	io.ReadCloser
	stop       func() bool
	connection net.Conn
}

// Close ends the connection.
func (b *lastBody) Close() error {
	b.stop()
	return b.connection.Close()
}
