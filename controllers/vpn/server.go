package vpn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/http2"
	"k8s.io/utils/clock"
)

const (
	// alive is after what silence an end of the tunnel asks the other whether it is there, and answer how long it waits.
	alive, answer = 5 * time.Second, 5 * time.Second
	// handshakeTimeout bounds what a client may take until it has said who it is, and what it wants.
	handshakeTimeout = 10 * time.Second
	// connectTimeout bounds the way to what the API server wants, a little longer than vpn-shoot tries.
	connectTimeout = dialTimeout + 2*time.Second
)

// server is vpn-seed-server: it takes tunnels from vpn-shoot, and requests from the API server.
type server struct {
	certificates certificates
	transport    *http2.Transport
	metrics      *metrics
	clock        clock.WithDelayedExecution
	log          logr.Logger

	mutex   sync.Mutex
	tunnels []*tunnel // the youngest last
}

// tunnel is a connection from vpn-shoot, on which this end is the client.
type tunnel struct{ *http2.ClientConn }

func newServer(c certificates, clock clock.WithDelayedExecution, log logr.Logger) *server {
	return &server{certificates: c, clock: clock, log: log, metrics: newMetrics(),
		transport: &http2.Transport{ReadIdleTimeout: alive, PingTimeout: answer}}
}

// serveTunnels takes tunnels until ctx is done or the listener fails, and then waits for their end.
func (s *server) serveTunnels(ctx context.Context, listener net.Listener) error {
	var tunnels sync.WaitGroup
	defer tunnels.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener = tls.NewListener(listener, s.certificates.server(nodesEnd, http2.NextProtoTLS))
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		connection, err := listener.Accept()
		switch {
		case err == nil:
			tunnels.Go(func() { s.take(ctx, connection.(*tls.Conn)) })
		case ctx.Err() != nil:
			return nil
		default:
			return fmt.Errorf("accept tunnels: %w", err)
		}
	}
}

// take one tunnel, and keep it until it ends.
func (s *server) take(ctx context.Context, connection *tls.Conn) {
	defer connection.Close()
	within, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := connection.HandshakeContext(within); err != nil {
		s.log.V(1).Info("Tunnel is refused", "from", connection.RemoteAddr().String(), "reason", err.Error())
		return
	}
	ended := make(chan struct{})
	watched := &watchedConn{Conn: connection, ended: sync.OnceFunc(func() { close(ended) })}
	made, err := s.transport.NewClientConn(watched)
	if err != nil {
		s.log.V(1).Info("Tunnel is refused", "from", connection.RemoteAddr().String(), "reason", err.Error())
		return
	}
	t := &tunnel{made}
	s.add(t)
	s.log.Info("Tunnel is open", "from", connection.RemoteAddr().String())
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.remove(t)
	_ = made.Close() // it is over
	s.log.Info("Tunnel has ended", "from", connection.RemoteAddr().String())
}

// watchedConn says when it is closed: by its reader, which always waits for more, when it breaks or the other end does
// not answer.
type watchedConn struct {
	*tls.Conn
	ended func()
}

// Close closes the connection.
func (c *watchedConn) Close() error {
	defer c.ended()
	return c.Conn.Close()
}

func (s *server) add(t *tunnel) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.tunnels = append(s.tunnels, t)
	s.metrics.tunnels.Set(float64(len(s.tunnels)))
}

func (s *server) remove(t *tunnel) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i, other := range s.tunnels {
		if other == t {
			s.tunnels = append(s.tunnels[:i:i], s.tunnels[i+1:]...)
			break
		}
	}
	s.metrics.tunnels.Set(float64(len(s.tunnels)))
}

// current is the youngest tunnel that takes requests: a vpn-shoot that connects anew may leave an old one behind.
func (s *server) current() *tunnel {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i := len(s.tunnels) - 1; i >= 0; i-- {
		if s.tunnels[i].CanTakeNewRequest() {
			return s.tunnels[i]
		}
	}
	return nil
}

// serveEgress takes requests of the API server until ctx is done or the listener fails.
func (s *server) serveEgress(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: http.HandlerFunc(s.connect), ReadHeaderTimeout: handshakeTimeout,
		TLSConfig: s.certificates.server(apiServer, "http/1.1"), ErrorLog: log.New(io.Discard, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}} // a connection is taken over whole
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.ServeTLS(listener, "", ""); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API server: %w", err)
	}
	return nil
}

// errNoTunnel says that no vpn-shoot is connected.
var errNoTunnel = errors.New("no tunnel to the nodes is open")

func (s *server) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is answered", http.StatusMethodNotAllowed)
		return
	}
	far, err := s.open(r.Context(), r.Host)
	if err != nil {
		s.metrics.refused.Inc()
		s.log.V(1).Info("Connection is refused", "to", r.Host, "reason", err.Error())
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.log.Error(err, "Could not take a connection over")
		return
	}
	defer near.Close()
	s.metrics.carried.Inc()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return // the API server has gone
	}
	join(near, buffered, far)
}

// stream is a connection through the tunnel.
type stream struct {
	io.ReadCloser  // what the far end says
	io.WriteCloser // what it hears
	cancel         context.CancelFunc
}

// Close ends both directions.
func (s *stream) Close() error {
	s.cancel()
	return errors.Join(s.WriteCloser.Close(), s.ReadCloser.Close())
}

// open a connection to an address through the tunnel. It outlives the request for it.
func (s *server) open(ctx context.Context, address string) (*stream, error) {
	t := s.current()
	if t == nil {
		return nil, errNoTunnel
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	patience := s.clock.AfterFunc(connectTimeout, cancel)
	body, said := io.Pipe()
	request := (&http.Request{Method: http.MethodConnect, URL: &url.URL{Scheme: "https", Host: address}, Host: address,
		Header: http.Header{}, Body: body, ContentLength: -1}).WithContext(ctx)
	response, err := t.RoundTrip(request)
	if err == nil && !patience.Stop() {
		err = context.DeadlineExceeded
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to %s through the tunnel: %w", address, err)
	}
	far := &stream{ReadCloser: response.Body, WriteCloser: said, cancel: cancel}
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // what there is of it
		_ = far.Close()                                           // it carries nothing
		return nil, fmt.Errorf("connect to %s through the tunnel: %s", address, why)
	}
	return far, nil
}

// join passes bytes both ways until the far end has ended, or one of them breaks. What the near end has sent ahead is
// in its reader.
func join(near io.ReadWriter, ahead io.Reader, far *stream) {
	go func() {
		_, err := io.Copy(far.WriteCloser, ahead)
		if err != nil {
			_ = far.Close()
			return
		}
		_ = far.WriteCloser.Close() // a pipe: it never fails
	}()
	_, _ = io.Copy(near, far.ReadCloser) // whichever side has broken, it is over
}
