// Package wire is the client's side of a link: its connections, and the faults that act on their bytes, whatever these
// mean. It knows no HTTP but for the server that its inlet and its limits of silence are for, and no Kubernetes.
package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Shared is what the connections of one link have in common.
type Shared struct {
	Clock clock.Clock
	// Plan is the one in force.
	Plan func() *Plan
	// ToServer and ToClient count the bytes that have passed.
	ToServer, ToClient atomic.Int64
	// Remove is called once with every connection that has ended. The connection is locked meanwhile.
	Remove func(*Conn)
}

// Conn is a client's socket with the faults of its link. While no fault holds bytes back it reads and writes the socket
// directly; from the first fault on, the direction concerned goes through a wire.
type Conn struct {
	net.Conn
	source io.Reader // the socket, behind bytes read ahead of it
	target string    // host:port, when the client asked for it with CONNECT
	shared *Shared

	up, down atomic.Pointer[wire]
	doomed   atomic.Bool // about to be killed

	mu                          sync.Mutex // engaging a wire, deadlines, dying
	readDeadline, writeDeadline time.Time
	dead                        bool
	silence                     *time.Timer   // closes the connection; nil while a request is under way
	gone                        chan struct{} // closed when the socket is
}

// NewConn takes in a socket of a client.
func NewConn(socket net.Conn, shared *Shared) *Conn {
	return &Conn{Conn: socket, source: socket, shared: shared, gone: make(chan struct{})}
}

// SetConnect lets a client that has asked for a target with CONNECT in: source is the socket, behind what was read
// ahead of it. It is called before the connection is used.
func (c *Conn) SetConnect(source io.Reader, target string) { c.source, c.target = source, target }

// Target is the host:port that the client has asked for with CONNECT; empty where it has not.
func (c *Conn) Target() string { return c.target }

// Gone is closed when the socket is.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Doom lets nothing through any more that is held back: the connection is about to be killed.
func (c *Conn) Doom() { c.doomed.Store(true) }

// Read reads what came from the client.
func (c *Conn) Read(p []byte) (int, error) {
	if w := c.up.Load(); w != nil {
		return w.inside.Read(p)
	}
	if c.shared.Plan().holds(ToServer) {
		return c.engage(ToServer, nil).inside.Read(p)
	}
	n, err := c.source.Read(p)
	if !c.shared.Plan().holds(ToServer) || (n == 0 && errors.Is(err, os.ErrDeadlineExceeded)) {
		c.shared.ToServer.Add(int64(n))
		return n, err
	}
	// A fault came while this read was waiting. The bytes take the slow way; an error will be met there again.
	return c.engage(ToServer, p[:n]).inside.Read(p)
}

// Write sends to the client. Like a socket, it may return before the bytes are delivered.
func (c *Conn) Write(p []byte) (int, error) {
	w := c.down.Load()
	if w == nil {
		if !c.shared.Plan().holds(ToClient) {
			n, err := c.Conn.Write(p)
			c.shared.ToClient.Add(int64(n))
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
func (c *Conn) engage(d Direction, head []byte) *wire {
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
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readDeadline = t
	if w := c.up.Load(); w != nil {
		return w.inside.SetReadDeadline(t)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline bounds Write, not the delivery of what was written.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	if w := c.down.Load(); w != nil {
		return w.inside.SetWriteDeadline(t)
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline bounds Read and Write.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Close closes the connection after what was written has been delivered. It does not wait for that.
func (c *Conn) Close() error {
	if w := c.down.Load(); w != nil && w.underway.Load() > 0 {
		_ = w.inside.Close()
		if up := c.up.Load(); up != nil {
			_ = up.inside.Close()
		}
		return nil
	}
	c.Kill()
	return nil
}

// Kill closes the connection at once; what is under way is lost.
func (c *Conn) Kill() {
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
	c.shared.Remove(c)
}

// Reset kills the connection with a TCP reset.
func (c *Conn) Reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Kill()
}
