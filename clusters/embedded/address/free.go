package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Endpoint is an address that something is going to listen on.
type Endpoint struct {
	Network string // "tcp" or "udp"
	netip.AddrPort
	Purpose string // for people: "kube-apiserver of cluster \"garden\""
}

// TakenError says which address is taken, and by whom if that can be seen.
type TakenError struct {
	Endpoint
	Holder string // "process 4711 (nginx)", or empty
}

func (e *TakenError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("%s %s, wanted for %s, is taken by %s: end it, or choose another slot with --slot", e.Network, e.AddrPort, e.Purpose, holder)
}

// settle is how long an address may still be held by a process that is being killed, settlePoll how often to look.
const (
	settle     = 3 * time.Second
	settlePoll = 50 * time.Millisecond
)

// CheckFree makes sure that every endpoint can be listened on, before anything is started. All that are taken are
// named, each a *TakenError.
func CheckFree(ctx context.Context, endpoints []Endpoint) error {
	deadline := time.Now().Add(settle)
	for {
		err := checkOnce(endpoints)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(settlePoll):
		}
	}
}

func checkOnce(endpoints []Endpoint) error {
	var errs []error
	for _, endpoint := range endpoints {
		errs = append(errs, tryListen(endpoint))
	}
	return errors.Join(errs...)
}

func tryListen(endpoint Endpoint) error {
	err := listenOnce(endpoint)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &TakenError{Endpoint: endpoint, Holder: strings.Join(holders(endpoint), ", ")}
	}
	if err != nil {
		return fmt.Errorf("try the address of %s: %w", endpoint.Purpose, err)
	}
	return nil
}

func listenOnce(endpoint Endpoint) error {
	if endpoint.Network == "udp" {
		connection, err := net.ListenPacket("udp", endpoint.String())
		if err != nil {
			return err
		}
		return connection.Close()
	}
	listener, err := net.Listen("tcp", endpoint.String())
	if err != nil {
		return err
	}
	return listener.Close()
}
