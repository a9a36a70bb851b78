package guard

import (
	"net"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// termConn writes only while its term is valid: the check stands immediately before the system call, so that nothing
// that a frozen process had in its buffers goes out after a lapse (O2). It is closed when the term ends.
type termConn struct {
	net.Conn
	term *ownership.Term
}

func newTermConn(conn net.Conn, term *ownership.Term) *termConn {
	c := &termConn{Conn: conn, term: term}
	return c
}

// Write implements net.Conn.
func (c *termConn) Write(p []byte) (int, error) {
	if !c.term.Valid() {
		c.Close()
		return 0, ownership.ErrLapsed
	}
	return c.Conn.Write(p)
}

// termListener accepts connections only while the guard is valid, each for the term it came in.
type termListener struct {
	net.Listener
	guard *ownership.Guard
	conns *connections
}

// Accept implements net.Listener. It closes at once what comes while the guard is not valid.
func (l *termListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		term := l.guard.Term()
		if !term.Valid() {
			conn.Close()
			continue
		}
		return l.conns.add(newTermConn(conn, term)), nil
	}
}
