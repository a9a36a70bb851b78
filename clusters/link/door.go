package link

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

// door is the listening socket of a link. It can be shut for a while, so that the kernel refuses connections.
type door struct {
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

// openDoor listens on an address and hands each connection to guest, which must not block for long.
func openDoor(address string, guest func(net.Conn), log logr.Logger) (*door, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	d := &door{address: listener.Addr().String(), guest: guest, log: log, closed: make(chan struct{})}
	d.open(listener)
	return d, nil
}

// open serves the listener. The caller holds the lock, or is alone.
func (d *door) open(listener net.Listener) {
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

func (d *door) pause() bool {
	timer := time.NewTimer(doorPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.closed:
		return false
	}
}

// shut closes the door, or opens it again.
func (d *door) shut(shut bool) {
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

func (d *door) stop() {
	if d.listener != nil {
		_ = d.listener.Close()
		d.listener = nil
	}
}

func (d *door) reopen() bool {
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		d.log.Error(err, "Address cannot be had back", "address", d.address)
		return false
	}
	d.open(listener)
	return true
}

// keepTrying opens the door as soon as whoever took its address leaves.
func (d *door) keepTrying() {
	for d.pause() {
		d.mu.Lock()
		done := d.isClosed || d.isShut || d.listener != nil || d.reopen()
		d.mu.Unlock()
		if done {
			return
		}
	}
}

// close shuts the door for good and waits for its loops.
func (d *door) close() {
	d.mu.Lock()
	if !d.isClosed {
		d.isClosed = true
		d.stop()
		close(d.closed)
	}
	d.mu.Unlock()
	d.loops.Wait()
}
