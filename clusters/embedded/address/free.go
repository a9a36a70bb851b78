package address

import (
	"cmp"
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
	holder := cmp.Or(e.Holder, "another process")
	return fmt.Sprintf("%s %s, wanted for %s, is taken by %s", e.Network, e.AddrPort, e.Purpose, holder)
}

// settle is how long an address may still be held by a process that is being killed, settlePoll how often to look.
const (
	settle     = 3 * time.Second
	settlePoll = 50 * time.Millisecond
)

// CheckFree makes sure that every endpoint can be listened on, before anything is started. All that are taken are
// named, each a *TakenError.
func CheckFree(ctx context.Context, endpoints []Endpoint) error {
	var taken []Endpoint
	err := settled(ctx, func() (bool, error) {
		var err error
		taken, err = takenOf(endpoints)
		return len(taken) == 0, err
	})
	if err != nil {
		return err
	}
	return takenErrors(taken)
}

// settled tries until it has worked, for as long as an address may still be held by who is being killed.
func settled(ctx context.Context, try func() (bool, error)) error {
	deadline := time.Now().Add(settle)
	for {
		if done, err := try(); done || err != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePoll):
		}
	}
}

// takenOf are those of the endpoints that cannot be listened on now.
func takenOf(endpoints []Endpoint) ([]Endpoint, error) {
	var taken []Endpoint
	for _, endpoint := range endpoints {
		err := listenOnce(endpoint)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, endpoint)
		case err != nil:
			return nil, fmt.Errorf("try the address of %s: %w", endpoint.Purpose, err)
		}
	}
	return taken, nil
}

// takenErrors names who holds the endpoints; nil if there are none.
func takenErrors(taken []Endpoint) error {
	var errs []error
	for _, endpoint := range taken {
		errs = append(errs, &TakenError{Endpoint: endpoint, Holder: strings.Join(holders(endpoint), ", ")})
	}
	return errors.Join(errs...)
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
