package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Inlet is the listener of a link's HTTP server: it hands out connections that have been accepted elsewhere.
type Inlet struct {
	conns  chan *Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = &Inlet{}

// NewInlet is one that hands out what it is given with Put.
func NewInlet() *Inlet { return &Inlet{conns: make(chan *Conn), closed: make(chan struct{})} }

// Put hands a connection out, or closes it when the inlet is closed.
func (i *Inlet) Put(c *Conn) {
	select {
	case i.conns <- c:
	case <-i.closed:
		c.Kill()
	}
}

// Accept waits for a connection.
func (i *Inlet) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.closed:
		return nil, http.ErrServerClosed
	}
}

// Close ends Accept.
func (i *Inlet) Close() error {
	i.once.Do(func() { close(i.closed) })
	return nil
}

// Addr is nothing to connect to.
func (i *Inlet) Addr() net.Addr { return &net.TCPAddr{} }

type connKey struct{}

// WithConn notes in the context of a connection's requests which connection that is.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if ours := inner(c); ours != nil {
		return context.WithValue(ctx, connKey{}, ours)
	}
	return ctx
}

// FromContext is the connection that a request has come on, by its context; nil where WithConn has noted none.
func FromContext(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// inner is the connection below TLS; nil if it is none of a link.
func inner(socket net.Conn) *Conn {
	if secured, ok := socket.(*tls.Conn); ok {
		if c, ok := secured.NetConn().(*Conn); ok {
			return c
		}
	}
	return nil
}
