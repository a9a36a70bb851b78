package guard

import (
	"net"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

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
		return l.conns.add(&ownership.Conn{Conn: conn, Term: term}), nil
	}
}
