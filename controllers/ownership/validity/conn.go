package validity

import "net"

// Conn writes only while its term is valid: the check stands immediately before the system call, so that nothing that
// a frozen process had in its buffers goes out after a lapse (docs/ownership.md#o2). It is not closed by the end of the
// term; whoever opened it does that.
type Conn struct {
	net.Conn
	// Term under which the connection was opened.
	Term *Term
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if !c.Term.Valid() {
		c.Close()
		return 0, ErrLapsed
	}
	return c.Conn.Write(p)
}
