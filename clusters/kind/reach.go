package kind

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
	corev1 "k8s.io/api/core/v1"
)

// hatches are ports of this machine's loopback that lead to pods, whose addresses only their node knows. The zero value
// is usable.
type hatches struct {
	mutex  sync.Mutex
	open   map[hatchKey]*hatch
	closed bool
}

// maxCarried is how many connections a hatch carries at a time; others wait. Each is a docker exec, and every user of
// the machine can connect.
const maxCarried = 64

// hatchKey is where a hatch leads. A pod that is started anew on a node that was lost has another address.
type hatchKey struct {
	node, address string
	port          int
}

// hatch is one of them.
type hatch struct {
	listener net.Listener
	cancel   context.CancelFunc
	served   sync.WaitGroup
}

// Reach is where this process finds a port of a pod, past all links: a port of its own, whose every connection is
// carried on by a shell in the pod's node. API servers forward ports too, but to a pod's loopback only.
func (l *Landscape) Reach(_ context.Context, cluster string, pod *corev1.Pod, port int) (string, error) {
	c, err := l.find(cluster)
	if err != nil {
		return "", err
	}
	address, err := l.hatches.find(hatchKey{c.Node(), pod.Status.PodIP, port})
	if err != nil {
		return "", fmt.Errorf("reach port %d of pod %s/%s of cluster %q: %w", port, pod.Namespace, pod.Name, cluster, err)
	}
	return address, nil
}

// find a hatch, or open it. It stays until all are closed.
func (s *hatches) find(key hatchKey) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return "", errors.New("the landscape has stopped")
	}
	if net.ParseIP(key.address) == nil {
		return "", fmt.Errorf("it has no address yet, but %q", key.address)
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
			s.open = map[hatchKey]*hatch{}
		}
		s.open[key] = h
	}
	return h.listener.Addr().String(), nil
}

func (h *hatch) serve(ctx context.Context, key hatchKey) {
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
func carry(ctx context.Context, connection net.Conn, key hatchKey) {
	command := exec.CommandContext(ctx, "docker", "exec", "--interactive", key.node,
		"bash", "-c", carryScript, "carry", key.address, strconv.Itoa(key.port))
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

// close shuts all hatches, and opens none afterwards.
func (s *hatches) close() {
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
