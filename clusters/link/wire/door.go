package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// doorPause is the time between attempts to accept, or to get an address back, after an error.
const doorPause = 50 * time.Millisecond

// Door is the listening socket of a link. It can be shut for a while, so that the kernel refuses connections.
type Door struct {
	address string
	guest   func(net.Conn)
	log     logr.Logger

	mu       sync.Mutex
	listener net.Listener // nil while shut
	isShut   bool
	isClosed bool
	closed   chan struct{}
	loops    sync.WaitGroup
}

// OpenDoor listens on an address and hands each connection to guest, which must not block for long.
func OpenDoor(address string, guest func(net.Conn), log logr.Logger) (*Door, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	d := &Door{address: listener.Addr().String(), guest: guest, log: log, closed: make(chan struct{})}
	d.open(listener)
	return d, nil
}

// Address is where the door listens, as host:port.
func (d *Door) Address() string { return d.address }

// open serves the listener. The caller holds the lock, or is alone.
func (d *Door) open(listener net.Listener) {
	d.listener = listener
	d.loops.Go(func() {
		for {
			socket, err := listener.Accept()
			switch {
			case err == nil:
				d.guest(socket)
			case errors.Is(err, net.ErrClosed):
				return
			default:
				d.log.Error(err, "Connection cannot be accepted", "address", d.address)
				if !d.pause() {
					return
				}
			}
		}
	})
}

func (d *Door) pause() bool {
	timer := time.NewTimer(doorPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.closed:
		return false
	}
}

// Shut closes the door, or opens it again.
func (d *Door) Shut(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isClosed || d.isShut == shut {
		return
	}
	d.isShut = shut
	if shut {
		d.stop()
	} else if !d.reopen() {
		d.loops.Go(d.keepTrying)
	}
}

func (d *Door) stop() {
	if d.listener != nil {
		_ = d.listener.Close()
		d.listener = nil
	}
}

func (d *Door) reopen() bool {
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		d.log.Error(err, "Address cannot be had back", "address", d.address)
		return false
	}
	d.open(listener)
	return true
}

// keepTrying opens the door as soon as whoever took its address leaves.
func (d *Door) keepTrying() {
	for d.pause() {
		d.mu.Lock()
		done := d.isClosed || d.isShut || d.listener != nil || d.reopen()
		d.mu.Unlock()
		if done {
			return
		}
	}
}

// Close shuts the door for good and waits for its loops.
func (d *Door) Close() {
	d.mu.Lock()
	if !d.isClosed {
		d.isClosed = true
		d.stop()
		close(d.closed)
	}
	d.mu.Unlock()
	d.loops.Wait()
}
