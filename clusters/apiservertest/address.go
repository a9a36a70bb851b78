package apiservertest

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

// addressTries bounds the search for an address that nobody uses.
const addressTries = 50

// freeAddress draws an address of 127.240.0.0/12 whose ports are free: embedded landscapes stay below it. With it goes
// a range for services, which nothing listens on.
func freeAddress() (netip.Addr, netip.Prefix, error) {
	var last error
	for range addressTries {
		var dice [3]byte
		if _, err := rand.Read(dice[:]); err != nil {
			return netip.Addr{}, netip.Prefix{}, fmt.Errorf("draw an address: %w", err)
		}
		// 240 to 254, so that 127.255.255.255 stays out.
		address := netip.AddrFrom4([4]byte{127, 240 + dice[0]%15, dice[1], 1 + dice[2]%254})
		if last = portsFree(address); last == nil {
			return address, netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 255, 0, 0}), 16), nil
		}
	}
	return netip.Addr{}, netip.Prefix{}, fmt.Errorf("find a free loopback address: %w", last)
}

func portsFree(address netip.Addr) error {
	var errs []error
	for _, port := range []uint16{program.EtcdPort, program.EtcdPeerPort, program.APIServerPort} {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, port).String())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}

func randomToken() (string, error) {
	var dice [16]byte
	if _, err := rand.Read(dice[:]); err != nil {
		return "", fmt.Errorf("draw a token: %w", err)
	}
	return hex.EncodeToString(dice[:]), nil
}
