package vpn

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/http2"
	"k8s.io/utils/clock"
)

const (
	// dialTimeout bounds the way to the gateway, and to what the API server wants: nodes and pods are near.
	dialTimeout = 5 * time.Second
	// again is when vpn-shoot connects again after a tunnel has ended, or has not come up.
	again = 500 * time.Millisecond
	// streams through a tunnel at a time, and what each may send ahead before it is read. No stream that is not read may
	// hold up the others.
	maxStreams, ahead = 1000, 64 << 10
)

// shoot is vpn-shoot: it keeps a tunnel open, and connects to what comes through it.
type shoot struct {
	gateway      string // host:port
	destination  string // of the tunnel, as the gateway wants it
	serverName   string
	certificates certificates
	resolver     *net.Resolver
	clock        clock.Clock
	log          logr.Logger
}

// resolverOf asks one DNS server; nil for the machine's own resolver.
func resolverOf(server string) *net.Resolver {
	if server == "" {
		return nil
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
}

// run keeps a tunnel open until ctx is done. Nothing makes it give up: the shoot may be on its way to another seed.
func (s *shoot) run(ctx context.Context) {
	said := ""
	for ctx.Err() == nil {
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if err.Error() != said {
			s.log.Info("Tunnel is away", "reason", err.Error())
		}
		said = err.Error()
		select {
		case <-ctx.Done():
		case <-s.clock.After(again):
		}
	}
}

// serve opens a tunnel and serves it until it ends. The error says why.
func (s *shoot) serve(ctx context.Context) error {
	connection, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	s.log.Info("Tunnel is open", "gateway", connection.RemoteAddr().String())
	(&http2.Server{
		MaxConcurrentStreams: maxStreams, MaxUploadBufferPerStream: ahead, MaxUploadBufferPerConnection: maxStreams * ahead,
		ReadIdleTimeout: alive, PingTimeout: answer,
	}).ServeConn(connection, &http2.ServeConnOpts{Context: ctx, Handler: http.HandlerFunc(s.connect)})
	return fmt.Errorf("the tunnel by gateway %s has ended", connection.RemoteAddr())
}

// open connects to vpn-seed-server by the gateway.
func (s *shoot) open(ctx context.Context) (_ *tls.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	plain, err := (&net.Dialer{Resolver: s.resolver}).DialContext(ctx, "tcp4", s.gateway)
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	defer func() {
		if err != nil {
			_ = plain.Close() // it is of no use
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = plain.SetDeadline(time.Unix(1, 0)) })()
	if err := s.ask(plain); err != nil {
		return nil, err
	}
	config, err := s.certificates.client(s.serverName, http2.NextProtoTLS)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(plain, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("greet %s: %w", s.serverName, err)
	}
	return secured, nil
}

// ask the gateway for vpn-seed-server.
func (s *shoot) ask(gateway net.Conn) error {
	request := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\nReversed-VPN: %s\r\n\r\n", s.gateway, s.gateway,
		s.destination)
	if _, err := io.WriteString(gateway, request); err != nil {
		return fmt.Errorf("ask the gateway: %w", err)
	}
	// The server says nothing before it is greeted, so that nothing is read ahead.
	response, err := http.ReadResponse(bufio.NewReader(gateway), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fmt.Errorf("read the gateway's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway answers %s", response.Status)
	}
	return nil
}

// connect one stream with what the API server wants.
func (s *shoot) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is answered", http.StatusMethodNotAllowed)
		return
	}
	target, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(r.Context(), "tcp4", r.Host)
	if err != nil {
		s.log.V(1).Info("Connection is refused", "to", r.Host, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer target.Close()
	w.WriteHeader(http.StatusOK)
	out := flushed{w, http.NewResponseController(w)}
	if err := out.Flush(); err != nil {
		return // the API server has gone
	}
	go func() {
		if _, err := io.Copy(target, r.Body); err != nil {
			_ = target.Close() // it is over
			return
		}
		_ = target.(*net.TCPConn).CloseWrite() // fails where the target has closed it
	}()
	_, _ = io.Copy(out, struct{ io.Reader }{target}) // whichever side has broken, it is over
}

// flushed lets nothing wait.
type flushed struct {
	io.Writer
	*http.ResponseController
}

// Write writes and flushes.
func (f flushed) Write(content []byte) (int, error) {
	n, err := f.Writer.Write(content)
	if err == nil {
		err = f.Flush()
	}
	return n, err
}
