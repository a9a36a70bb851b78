package service

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// dialTimeout bounds the wait for a pod that is frozen.
const dialTimeout = 10 * time.Second

// listener takes connections on one address of a service and joins each with the next backend.
type listener struct {
	net.Listener
	backends atomic.Pointer[[]string] // never empty
	turn     atomic.Uint64
	log      logr.Logger
	clock    clock.Clock
}

func open(front netip.AddrPort, backends []string, log logr.Logger, clock clock.Clock) (*listener, error) {
	socket, err := net.Listen("tcp4", front.String())
	if err != nil {
		return nil, fmt.Errorf("listen on the service's address: %w", err)
	}
	l := &listener{Listener: socket, log: log.WithValues("front", front.String()), clock: clock}
	l.set(backends)
	go l.serve()
	return l, nil
}

// set changes where new connections go; those that exist stay.
func (l *listener) set(backends []string) { l.backends.Store(&backends) }

func (l *listener) close() {
	if err := l.Close(); err != nil {
		l.log.Error(err, "Could not close a listener")
	}
}

func (l *listener) serve() {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			l.log.Error(err, "Could not accept a connection")
			l.clock.Sleep(10 * time.Millisecond) // out of file descriptors, most likely
			continue
		}
		go l.forward(client.(*net.TCPConn))
	}
}

func (l *listener) forward(client *net.TCPConn) {
	backends := *l.backends.Load()
	backend := backends[(l.turn.Add(1)-1)%uint64(len(backends))]
	server, err := net.DialTimeout("tcp4", backend, dialTimeout)
	if err != nil {
		l.log.V(1).Info("Backend does not answer", "backend", backend, "reason", err.Error())
		reset(client)
		return
	}
	Join(client, server.(*net.TCPConn))
}

// Join passes bytes both ways until both sides have ended, or one has broken. Both are closed then.
func Join(a, b *net.TCPConn) {
	var group sync.WaitGroup
	group.Go(func() { pass(a, b) })
	group.Go(func() { pass(b, a) })
	group.Wait()
	_ = a.Close() // both ends have ended already
	_ = b.Close()
}

// pass passes one direction. Its end closes that direction only; a break breaks both connections.
func pass(from, to *net.TCPConn) {
	if _, err := io.Copy(to, from); err == nil && to.CloseWrite() == nil {
		return
	}
	reset(from)
	reset(to)
}

// reset lets the peer see a reset instead of an orderly end.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // fails only on a connection that is closed
	_ = c.Close()
}
