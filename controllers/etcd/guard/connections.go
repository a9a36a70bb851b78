package guard

import (
	"net"
	"sync"

	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// connections closes what was opened under a term when that term ends.
type connections struct {
	mu   sync.Mutex
	open map[*validity.Term]map[*trackedConn]struct{}
}

// trackedConn leaves the set when it is closed.
type trackedConn struct {
	*validity.Conn
	set  *connections
	once sync.Once
}

func (c *connections) add(conn *validity.Conn) net.Conn {
	tracked := &trackedConn{Conn: conn, set: c}
	c.mu.Lock()
	if c.open == nil {
		c.open = map[*validity.Term]map[*trackedConn]struct{}{}
	}
	of, watched := c.open[conn.Term]
	if !watched {
		of = map[*trackedConn]struct{}{}
		c.open[conn.Term] = of
	}
	of[tracked] = struct{}{}
	c.mu.Unlock()
	if !watched {
		go c.closeAtEnd(conn.Term)
	}
	return tracked
}

func (c *connections) closeAtEnd(term *validity.Term) {
	<-term.Done()
	c.mu.Lock()
	of := c.open[term]
	delete(c.open, term)
	c.mu.Unlock()
	for conn := range of {
		conn.Conn.Close()
	}
}

// count of the connections that are open.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, of := range c.open {
		n += len(of)
	}
	return n
}

// Close implements net.Conn.
func (t *trackedConn) Close() error {
	t.once.Do(func() {
		t.set.mu.Lock()
		defer t.set.mu.Unlock()
		delete(t.set.open[t.Term], t)
	})
	return t.Conn.Close()
}
