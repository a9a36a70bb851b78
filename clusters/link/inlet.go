package link

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// inlet is the listener of a link's HTTP server: it hands out connections that have been accepted elsewhere.
type inlet struct {
	conns  chan *conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = &inlet{}

func newInlet() *inlet { return &inlet{conns: make(chan *conn), closed: make(chan struct{})} }

func (i *inlet) put(c *conn) {
	select {
	case i.conns <- c:
	case <-i.closed:
		c.kill()
	}
}

// Accept waits for a connection.
func (i *inlet) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.closed:
		return nil, http.ErrServerClosed
	}
}

// Close ends Accept.
func (i *inlet) Close() error {
	i.once.Do(func() { close(i.closed) })
	return nil
}

// Addr is nothing to connect to.
func (i *inlet) Addr() net.Addr { return &net.TCPAddr{} }

type connKey struct{}

// withConn notes in the context of a connection's requests which connection that is.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if ours := inner(c); ours != nil {
		return context.WithValue(ctx, connKey{}, ours)
	}
	return ctx
}

// inner is the connection below TLS; nil if it is none of a link.
func inner(socket net.Conn) *conn {
	if secured, ok := socket.(*tls.Conn); ok {
		if c, ok := secured.NetConn().(*conn); ok {
			return c
		}
	}
	return nil
}

// connectTarget sends a request where the CONNECT of its connection said.
func connectTarget(r *http.Request) (scheme, host string) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		host = c.target
	}
	return "https", host
}
