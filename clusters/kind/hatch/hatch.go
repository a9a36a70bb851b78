// Package hatch opens ways from this machine's loopback to what only a container reaches: an address behind it. It is
// for an observer who does not cross the links; every way is a port of its own. It does not know what is at its end.
package hatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"sync"

	"golang.org/x/net/netutil"
)

// Set is a set of ports of this machine's loopback that lead to pods, whose addresses only their node knows. The zero
// value is usable.
type Set struct {
	mutex  sync.Mutex
	open   map[Key]*hatch
	closed bool
}

// maxCarried is how many connections a hatch carries at a time; others wait. Each is a docker exec, and every user of
// the machine can connect.
const maxCarried = 64

// Key is where a hatch leads. A pod that is started anew on a node that was lost has another address.
type Key struct {
	Node    string // a container, in which the way goes on
	Address string // an IP address
	Port    int
}

// hatch is one of the set.
type hatch struct {
	listener net.Listener
	cancel   context.CancelFunc
	served   sync.WaitGroup
}

// Find is the address of a hatch, as host:port; it is opened if there is none, and stays until all are closed.
func (s *Set) Find(key Key) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return "", errors.New("the landscape has stopped")
	}
	if net.ParseIP(key.Address) == nil {
		return "", fmt.Errorf("it has no address yet, but %q", key.Address)
	}
	h := s.open[key]
	if h == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithCancel(context.Background())
		h = &hatch{listener: netutil.LimitListener(listener, maxCarried), cancel: cancel}
		h.served.Go(func() { h.serve(ctx, key) })
		if s.open == nil {
			s.open = map[Key]*hatch{}
		}
		s.open[key] = h
	}
	return h.listener.Addr().String(), nil
}

func (h *hatch) serve(ctx context.Context, key Key) {
	for {
		connection, err := h.listener.Accept()
		if err != nil {
			return // it is closed
		}
		h.served.Go(func() { carry(ctx, connection, key) })
	}
}

// carryScript passes bytes on to an address and back, until either side ends. Nodes have bash, which kind needs too.
const carryScript = `exec 3<>"/dev/tcp/$1/$2" || exit 1
cat <&3 & cat <&0 >&3 &
wait -n
kill $(jobs -p) 2>/dev/null`

// carry one connection. Where it cannot be carried, it ends.
func carry(ctx context.Context, connection net.Conn, key Key) {
	command := exec.CommandContext(ctx, "docker", "exec", "--interactive", key.Node,
		"bash", "-c", carryScript, "carry", key.Address, strconv.Itoa(key.Port))
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	defer connection.Close()
	in, err := command.StdinPipe()
	if err != nil {
		return
	}
	command.Stdout = connection
	if err := command.Start(); err != nil {
		return
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(in, connection) // how it ends is for those at its ends to see
		_ = in.Close()
	}()
	_ = command.Wait()
	_ = connection.Close()
	<-sent
}

// Close shuts all hatches, and opens none afterwards.
func (s *Set) Close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	for _, h := range s.open {
		_ = h.listener.Close()
		h.cancel()
		h.served.Wait()
	}
	clear(s.open)
}
