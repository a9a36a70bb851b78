package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// helloDeadline bounds how long a client may take to say whom it wants.
const helloDeadline = 10 * time.Second

// acceptPause is after an error that will pass, such as too many open files.
const acceptPause = 50 * time.Millisecond

// server takes connections of one port and hands each to its route.
type server struct {
	table *table
	log   logr.Logger
	// port is what clients say first here, as metrics name it.
	port string
	// choose reads from the connection whom the client wants. It writes nothing.
	choose func(conn net.Conn) (call, error)
	// refuse is what the client gets when there is no route.
	refuse []byte
}

// call is a client's wish for a connection.
type call struct {
	route *route
	// address of the Service the client wants, in the route's namespace.
	address string
	// client is the connection from which to read on.
	client net.Conn
	// welcome is what the client gets once the Service is reached.
	welcome []byte
}

// refusedError says that nobody serves what the client asks for.
type refusedError struct{ what string }

func (e *refusedError) Error() string { return "no route for " + e.what }

// serve accepts until ctx is done or the listener is closed.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			go s.handle(ctx, conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections: %w", err)
		default:
			s.log.Error(err, "A connection could not be accepted")
			select {
			case <-ctx.Done():
			case <-s.table.clock.After(acceptPause):
			}
		}
	}
}

func (s *server) handle(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	if err := conn.SetDeadline(s.table.wall.Now().Add(helloDeadline)); err != nil {
		return
	}
	wish, err := s.choose(conn)
	if err != nil {
		s.count(resultOf(err)).Inc()
		if _, refused := errors.AsType[*refusedError](err); refused {
			_, _ = conn.Write(s.refuse) // the client may be gone
		}
		s.log.V(1).Info("Connection refused", "from", conn.RemoteAddr(), "reason", err.Error())
		return
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return
	}
	if err := wish.route.carry(ctx, wish, s.count(resultCarried)); err != nil {
		s.count(resultOf(err)).Inc()
		s.log.V(1).Info("Connection not carried", "from", conn.RemoteAddr(), "reason", err.Error())
	}
}

// count is the counter of connections to this port that end so.
func (s *server) count(result string) prometheus.Counter {
	return s.table.metrics.connections.WithLabelValues(s.port, result)
}

// newServer takes connections whose clients name the host they want in their ClientHello.
func newServer(table *table, log logr.Logger) *server {
	s := &server{table: table, log: log.WithValues("port", portSNI), port: portSNI, refuse: unrecognizedName}
	s.choose = s.bySNI
	return s
}

func (s *server) bySNI(conn net.Conn) (call, error) {
	name, client, err := peekName(conn)
	if errors.Is(err, errNoName) {
		return call{}, &refusedError{what: "a client without a server name"}
	}
	if err != nil {
		return call{}, err
	}
	route := s.table.byHost(name)
	if route == nil {
		return call{}, &refusedError{what: name}
	}
	return call{route: route, address: route.address, client: client}, nil
}
