package link

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a client's socket with the faults of its link. While no fault holds bytes back it reads and writes the socket
// directly; from the first fault on, the direction concerned goes through a wire.
type conn struct {
	net.Conn
	source  io.Reader // the socket, behind bytes read ahead of it
	target  string    // host:port, when the client asked for it with CONNECT
	traffic *traffic

	up, down atomic.Pointer[wire]
	doomed   atomic.Bool // about to be killed

	mu                          sync.Mutex // engaging a wire, deadlines, dying
	readDeadline, writeDeadline time.Time
	dead                        bool
	silence                     *time.Timer   // closes the connection; nil while a request is under way
	gone                        chan struct{} // closed when the socket is
}

// Read reads what came from the client.
func (c *conn) Read(p []byte) (int, error) {
	if w := c.up.Load(); w != nil {
		return w.inside.Read(p)
	}
	if c.traffic.plan.Load().holds(ToServer) {
		return c.engage(ToServer, nil).inside.Read(p)
	}
	n, err := c.source.Read(p)
	if !c.traffic.plan.Load().holds(ToServer) || (n == 0 && errors.Is(err, os.ErrDeadlineExceeded)) {
		c.traffic.toServer.Add(int64(n))
		return n, err
	}
	// A fault came while this read was waiting. The bytes take the slow way; an error will be met there again.
	return c.engage(ToServer, p[:n]).inside.Read(p)
}

// Write sends to the client. Like a socket, it may return before the bytes are delivered.
func (c *conn) Write(p []byte) (int, error) {
	w := c.down.Load()
	if w == nil {
		if !c.traffic.plan.Load().holds(ToClient) {
			n, err := c.Conn.Write(p)
			c.traffic.toClient.Add(int64(n))
			return n, err
		}
		w = c.engage(ToClient, nil)
	}
	w.underway.Add(int64(len(p)))
	n, err := w.inside.Write(p)
	w.underway.Add(int64(n - len(p)))
	return n, err
}

// engage puts a wire into one direction for the rest of the connection's life. Only the one reader or writer calls it.
func (c *conn) engage(d Direction, head []byte) *wire {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := newWire(c, d)
	if d == ToServer {
		c.up.Store(w)
		_ = c.Conn.SetReadDeadline(time.Time{})
		_ = w.inside.SetReadDeadline(c.readDeadline)
		w.run(head, c.source, w.outside)
	} else {
		c.down.Store(w)
		_ = c.Conn.SetWriteDeadline(time.Time{})
		_ = w.inside.SetWriteDeadline(c.writeDeadline)
		w.run(head, w.outside, c.Conn)
	}
	if c.dead {
		w.close()
	}
	return w
}

// SetReadDeadline bounds Read.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readDeadline = t
	if w := c.up.Load(); w != nil {
		return w.inside.SetReadDeadline(t)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline bounds Write, not the delivery of what was written.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	if w := c.down.Load(); w != nil {
		return w.inside.SetWriteDeadline(t)
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline bounds Read and Write.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Close closes the connection after what was written has been delivered. It does not wait for that.
func (c *conn) Close() error {
	if w := c.down.Load(); w != nil && w.underway.Load() > 0 {
		_ = w.inside.Close()
		if up := c.up.Load(); up != nil {
			_ = up.inside.Close()
		}
		return nil
	}
	c.kill()
	return nil
}

// kill closes the connection at once; what is under way is lost.
func (c *conn) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	close(c.gone)
	_ = c.Conn.Close()
	for _, w := range []*wire{c.up.Load(), c.down.Load()} {
		if w != nil {
			w.close()
		}
	}
	c.traffic.remove(c)
}

// reset kills the connection with a TCP reset.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.kill()
}
