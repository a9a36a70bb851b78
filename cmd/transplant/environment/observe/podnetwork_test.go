package observe

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/transplant-sim/transplant/clusters/roottest"
	"github.com/transplant-sim/transplant/sim/world"
)

// alone starts a process in a network of its own.
func alone(t *testing.T) (pid int) {
	t.Helper()
	roottest.Need(t, "enter other networks")
	other := exec.CommandContext(t.Context(), "sh", "-c", "echo there; cat")
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		roottest.Lack(t, fmt.Sprintf("this machine lets nobody have a network of their own: %v", err))
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = other.Wait()
	})
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(said) != "there" {
		t.Fatalf("the other process says %q: %v", said, err)
	}
	return other.Process.Pid
}

// A fresh network has not even a loopback that is up: what answers here is not to be reached from there.
func TestDialFromAnotherNetwork(t *testing.T) {
	t.Parallel()
	pid := alone(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if took, err := knock(t.Context(), listener.Addr().String()); err != nil || took <= 0 {
		t.Fatalf("from here it took %s: %v", took, err)
	}
	if _, err := dialFrom(t.Context(), pid, listener.Addr().String()); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("from there: got %v, want %v", err, syscall.ENETUNREACH)
	}
	if _, err := knock(t.Context(), listener.Addr().String()); err != nil {
		t.Errorf("from here, afterwards: %v", err)
	}
	if _, err := dialFrom(t.Context(), os.Getpid(), listener.Addr().String()); err == nil || !strings.Contains(err.Error(),
		"no network of its own") {
		t.Errorf("from a process of this network: %v", err)
	}
}

// A refusal is an answer; silence is none.
func TestKnock(t *testing.T) {
	t.Parallel()
	_, silent := bind(t)
	if _, err := knock(t.Context(), silent); err != nil {
		t.Errorf("a refusal is no answer: %v", err)
	}
	full := deaf(t)
	if _, err := knock(t.Context(), full); !errors.Is(err, world.ErrNoAnswer) {
		t.Errorf("got %v, want %v", err, world.ErrNoAnswer)
	}
}

// bind a socket that does not listen, to an address that nobody else can take: connections are refused.
func bind(t *testing.T) (socket int, address string) {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	bound := name.(*syscall.SockaddrInet4)
	return socket, (&net.TCPAddr{IP: bound.Addr[:], Port: bound.Port}).String()
}

// deaf is an address whose queue of new connections is full: the kernel answers no more.
func deaf(t *testing.T) string {
	t.Helper()
	socket, address := bind(t)
	if err := syscall.Listen(socket, 0); err != nil {
		t.Fatal(err)
	}
	first, err := net.Dial("tcp", address) // takes the only place
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	return address
}
