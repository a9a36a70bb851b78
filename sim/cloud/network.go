package cloud

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	api "github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/sim/cloud/refusal"
)

func networks() kind {
	return kindOf(api.KindNetworks, "net", rules[api.Network]{
		admit: func(_ *view, n *api.Network) error {
			_, err := parseCIDR(n.CIDR)
			return err
		},
		change: func(_ *view, before, after *api.Network) error {
			if after.CIDR != before.CIDR {
				return refusal.Invalid("The CIDR of network '%s' cannot be changed", before.ID)
			}
			return nil
		},
		release: func(v *view, n *api.Network) (*api.Network, error) {
			switch {
			case exists(v.state, api.KindSubnets, func(s *api.Subnet) bool { return s.NetworkID == n.ID }):
				return nil, refusal.InUse(api.KindNetworks, n.ID, "a subnet")
			case exists(v.state, api.KindRouters, func(r *api.Router) bool { return r.NetworkID == n.ID }):
				return nil, refusal.InUse(api.KindNetworks, n.ID, "a router")
			case exists(v.state, api.KindSecurityGroups, func(g *api.SecurityGroup) bool { return g.NetworkID == n.ID }):
				return nil, refusal.InUse(api.KindNetworks, n.ID, "a security group")
			}
			return nil, nil
		},
	})
}

func subnets() kind {
	return kindOf(api.KindSubnets, "subnet", rules[api.Subnet]{
		admit: func(v *view, s *api.Subnet) error {
			network, err := find[api.Network](v.state, api.KindNetworks, s.NetworkID)
			if err != nil {
				return err
			}
			outer, err := parseCIDR(network.CIDR)
			if err != nil {
				return err
			}
			inner, err := parseCIDR(s.CIDR)
			if err != nil {
				return err
			}
			if inner.Bits() < outer.Bits() || !outer.Contains(inner.Addr()) {
				return refusal.New(api.CodeInvalid, "InvalidSubnet.Range",
					"The CIDR '%s' is invalid: not inside the network's '%s'", s.CIDR, network.CIDR)
			}
			return nil
		},
		change: func(_ *view, before, after *api.Subnet) error {
			if after.CIDR != before.CIDR || after.NetworkID != before.NetworkID || after.Zone != before.Zone {
				return refusal.Invalid("Only the tags of subnet '%s' can be changed", before.ID)
			}
			return nil
		},
		release: func(v *view, s *api.Subnet) (*api.Subnet, error) {
			if exists(v.state, api.KindMachines, func(m *api.Machine) bool {
				return m.SubnetID == s.ID && m.State != api.MachineTerminated
			}) {
				return nil, refusal.InUse(api.KindSubnets, s.ID, "a machine")
			}
			return nil, nil
		},
	})
}

func routers() kind {
	k := kindOf(api.KindRouters, "rtr", rules[api.Router]{
		admit: func(v *view, r *api.Router) error {
			if _, err := find[api.Network](v.state, api.KindNetworks, r.NetworkID); err != nil {
				return err
			}
			address, err := addressIn(v, forTests)
			r.ExternalIP = address
			return err
		},
	})
	k.hidden = true
	return k
}

// forTests is the range set aside for tests of networks (RFC 2544).
var forTests = netip.MustParsePrefix("198.18.0.0/15")

// checkBalancers finds a range that has no addresses to give: it needs more than those of its network and of all.
func checkBalancers(in netip.Prefix) error {
	if in.IsValid() && (!in.Addr().Is4() || in.Bits() > 30) {
		return fmt.Errorf("give load balancers addresses of %s: it is no range of IPv4 with at least 4 addresses", in)
	}
	return nil
}

// addressIn draws an address of a range of IPv4 that no router or load balancer has.
func addressIn(v *view, in netip.Prefix) (string, error) {
	taken := map[string]bool{}
	for _, row := range v.rows[api.KindRouters] {
		taken[row.(*api.Router).ExternalIP] = true
	}
	for _, row := range v.rows[api.KindLoadBalancers] {
		for _, address := range row.(*api.LoadBalancer).Addresses {
			taken[address] = true
		}
	}
	maps.DeleteFunc(taken, func(text string, _ bool) bool {
		address, err := netip.ParseAddr(text)
		return err != nil || !in.Contains(address)
	})
	usable := int64(1)<<(32-in.Bits()) - 2
	if int64(len(taken)) >= usable {
		return "", refusal.Standard(api.CodeQuotaExceeded, api.KindLoadBalancers)
	}
	for {
		n, _ := crand.Int(crand.Reader, big.NewInt(usable)) // the reader of crypto/rand never fails
		bytes := in.Masked().Addr().As4()
		binary.BigEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(bytes[:])+uint32(n.Int64())+1)
		if address := netip.AddrFrom4(bytes).String(); !taken[address] {
			return address, nil
		}
	}
}

func securityGroups() kind {
	k := kindOf(api.KindSecurityGroups, "sg", rules[api.SecurityGroup]{
		admit: func(v *view, g *api.SecurityGroup) error {
			_, err := find[api.Network](v.state, api.KindNetworks, g.NetworkID)
			return err
		},
		change: func(_ *view, before, after *api.SecurityGroup) error {
			if after.NetworkID != before.NetworkID {
				return refusal.Invalid("The network of security group '%s' cannot be changed", before.ID)
			}
			return nil
		},
		release: func(v *view, g *api.SecurityGroup) (*api.SecurityGroup, error) {
			if exists(v.state, api.KindMachines, func(m *api.Machine) bool {
				return m.State != api.MachineTerminated && slices.Contains(m.SecurityGroupIDs, g.ID)
			}) {
				return nil, refusal.InUse(api.KindSecurityGroups, g.ID, "a machine")
			}
			return nil, nil
		},
	})
	k.hidden = true
	return k
}

func keyPairs() kind {
	return kindOf(api.KindKeyPairs, "key", rules[api.KeyPair]{
		admit: func(v *view, k *api.KeyPair) error {
			if k.Name == "" || k.PublicKey == "" {
				return refusal.Invalid("A key pair needs a name and a public key")
			}
			if exists(v.state, api.KindKeyPairs, func(other *api.KeyPair) bool { return other.Name == k.Name }) {
				return refusal.AlreadyExists(api.KindKeyPairs, k.Name)
			}
			sum := sha256.Sum256([]byte(strings.TrimSpace(k.PublicKey)))
			k.Fingerprint = "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
			return nil
		},
	})
}

func loadBalancers() kind {
	return kindOf(api.KindLoadBalancers, "lb", rules[api.LoadBalancer]{
		admit: func(v *view, l *api.LoadBalancer) error {
			if len(l.Addresses) == 0 {
				in := v.balancers
				if !in.IsValid() {
					in = forTests
				}
				address, err := addressIn(v, in)
				if err != nil {
					return err
				}
				l.Addresses = []string{address}
			}
			return checkAddresses(l.Addresses)
		},
		change: func(_ *view, _, after *api.LoadBalancer) error { return checkAddresses(after.Addresses) },
	})
}

func checkAddresses(addresses []string) error {
	for _, address := range addresses {
		if _, err := netip.ParseAddr(address); err != nil {
			return refusal.Invalid("Address '%s' is invalid", address)
		}
	}
	return nil
}

func parseCIDR(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix != prefix.Masked() {
		return netip.Prefix{}, refusal.New(api.CodeInvalid, "InvalidCIDR", "Value '%s' is invalid: not a CIDR", text)
	}
	return prefix, nil
}
