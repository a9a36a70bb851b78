package guard

import (
	"net"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// holdLimit is how long a connection that comes while the guard is not valid is kept waiting. gRPC gives a connection
// 20 s; a client whose attempt is refused backs off for up to two minutes, one that is kept waiting is served at once
// when the guard is valid again.
const holdLimit = 18 * time.Second

// termListener accepts connections only while the guard is valid, each for the term in which its service begins.
// Until then it holds them, and nothing is read from or written to them.
type termListener struct {
	net.Listener
	guard *validity.Guard
	clock ownership.Clock
	conns *connections

	once     sync.Once
	closed   sync.Once
	accepted chan net.Conn
	failed   chan error
	done     chan struct{}
}

func newTermListener(l net.Listener, guard *validity.Guard, clock ownership.Clock, conns *connections) *termListener {
	return &termListener{
		Listener: l, guard: guard, clock: clock, conns: conns,
		accepted: make(chan net.Conn), failed: make(chan error, 1), done: make(chan struct{}),
	}
}

// Accept implements net.Listener.
func (l *termListener) Accept() (net.Conn, error) {
	l.once.Do(func() { go l.acceptAll() })
	select {
	case conn := <-l.accepted:
		return conn, nil
	case err := <-l.failed:
		l.failed <- err
		return nil, err
	}
}

func (l *termListener) acceptAll() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.failed <- err
			return
		}
		go l.admit(conn)
	}
}

// admit hands the connection on as soon as the guard is valid, and closes it if that takes too long or never comes.
func (l *termListener) admit(conn net.Conn) {
	limit := l.clock.After(holdLimit)
	for l.guard.State() != validity.Fenced {
		changed := l.guard.Changed()
		if term := l.guard.Term(); term.Valid() {
			tracked := l.conns.add(&validity.Conn{Conn: conn, Term: term})
			select {
			case l.accepted <- tracked:
			case <-l.done:
				tracked.Close()
			}
			return
		}
		select {
		case <-changed:
			continue
		case <-limit:
		case <-l.done:
		}
		break
	}
	conn.Close()
}

// Close implements net.Listener.
func (l *termListener) Close() error {
	l.closed.Do(func() { close(l.done) })
	return l.Listener.Close()
}
