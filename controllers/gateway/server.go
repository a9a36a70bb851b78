package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
)

// helloDeadline bounds how long a client may take to say whom it wants.
const helloDeadline = 10 * time.Second

// acceptPause is after an error that will pass, such as too many open files.
const acceptPause = 50 * time.Millisecond

// server takes connections of one port and hands each to its route.
type server struct {
	table *table
	log   logr.Logger
	// choose reads from the connection whom the client wants, and returns the route, the address of the Service and
	// the connection from which to read on. Without an error it may have read, but not written.
	choose func(ctx context.Context, conn net.Conn) (*route, string, net.Conn, error)
	// refuse tells the client that there is no route; nil says nothing.
	refuse []byte
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
			case <-time.After(acceptPause):
			}
		}
	}
}

func (s *server) handle(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(helloDeadline)); err != nil {
		return
	}
	route, address, client, err := s.choose(ctx, conn)
	if err != nil {
		if _, refused := errors.AsType[*refusedError](err); refused && s.refuse != nil {
			_, _ = conn.Write(s.refuse) // the client may be gone
		}
		s.log.V(1).Info("Connection refused", "from", conn.RemoteAddr(), "reason", err.Error())
		return
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return
	}
	if err := route.carry(ctx, client, address); err != nil {
		s.log.V(1).Info("Connection ended", "from", conn.RemoteAddr(), "reason", err.Error())
	}
}

// bySNI chooses by the name in the ClientHello.
func (s *server) bySNI(_ context.Context, conn net.Conn) (*route, string, net.Conn, error) {
	name, client, err := peekName(conn)
	if errors.Is(err, errNoName) {
		return nil, "", nil, &refusedError{what: "a client without a server name"}
	}
	if err != nil {
		return nil, "", nil, err
	}
	route := s.table.byHost(name)
	if route == nil {
		return nil, "", nil, &refusedError{what: name}
	}
	return route, route.address, client, nil
}
