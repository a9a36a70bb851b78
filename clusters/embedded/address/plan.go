// Package address gives every landscape on a machine loopback addresses of its own, so that many run side by side
// with ordinary ports and without root.
//
// It only plans and claims; whoever listens on an address finds out there whether it is free.
package address

import (
	"fmt"
	"net/netip"
)

// Slots is how many landscapes fit on a machine, MaxClusters how many clusters into each of them.
const (
	Slots       = 28
	MaxClusters = 7
)

// The plan: slot L owns 127.<first+width*L>.0.0/16 and the seven slices after it.
const (
	first = 16
	width = 8
)

// Slot is the address plan of one landscape, 0 to Slots-1.
type Slot int

// Cluster is the address plan of one cluster.
type Cluster struct {
	Node          netip.Addr   // etcd, kube-apiserver and the process node
	Machines      netip.Prefix // holds Node
	Pods          netip.Prefix // each pod an address of its own
	Services      netip.Prefix
	LoadBalancers netip.Prefix
}

func (s Slot) addr(slice int, third, fourth byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(first + width*int(s) + slice), third, fourth})
}

// Cluster is the plan of the n-th cluster of the landscape, from 0, the garden.
func (s Slot) Cluster(n int) (Cluster, error) {
	if n < 0 || n >= MaxClusters {
		return Cluster{}, fmt.Errorf("plan the addresses of cluster %d: a landscape has at most %d clusters", n, MaxClusters)
	}
	return s.slice(n + 1), nil
}

// Nodes is the plan of the n-th cluster whose nodes are machines, from 0: the last slices are theirs. It is for the
// caller to see that none is a cluster's, too. The machines have the addresses of Machines.
func (s Slot) Nodes(n int) (Cluster, error) {
	if n < 0 || n >= MaxClusters {
		return Cluster{}, fmt.Errorf("plan the addresses of the nodes of shoot %d: a landscape has addresses for %d", n,
			MaxClusters)
	}
	return s.slice(MaxClusters - n), nil
}

func (s Slot) slice(n int) Cluster { return in(s.addr(n, 0, 0).As4()) }

// sliceBits is the length of the range of a slice.
const sliceBits = 16

// Range is the slice that the plan divides.
func (c Cluster) Range() netip.Prefix { return netip.PrefixFrom(c.Machines.Addr(), sliceBits) }

// In is the plan by which a slice is divided.
func In(slice netip.Prefix) (Cluster, error) {
	if !slice.Addr().IsLoopback() || slice.Bits() != sliceBits || slice != slice.Masked() {
		return Cluster{}, fmt.Errorf("divide the addresses %s: they are no /%d of 127.0.0.0/8", slice, sliceBits)
	}
	return in(slice.Addr().As4()), nil
}

func in(slice [4]byte) Cluster {
	quarter := func(third byte) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{slice[0], slice[1], third, 0}), 18)
	}
	return Cluster{
		Node:     netip.AddrFrom4([4]byte{slice[0], slice[1], 0, 1}),
		Machines: quarter(0), Pods: quarter(64), Services: quarter(128), LoadBalancers: quarter(192),
	}
}

// Supervisor is the landscape's own address, whose claim port says that the slot is taken.
func (s Slot) Supervisor() netip.Addr { return s.addr(0, 0, 1) }

// Cloud is where the simulated cloud serves its API.
func (s Slot) Cloud() netip.AddrPort { return netip.AddrPortFrom(s.addr(0, 0, 2), 8443) }

// DNS is where the simulated cloud answers DNS, over UDP and TCP.
func (s Slot) DNS() netip.AddrPort { return netip.AddrPortFrom(s.addr(0, 0, 3), 5353) }

// Balancers are the addresses of the cloud's load balancers.
func (s Slot) Balancers() netip.Prefix { return netip.PrefixFrom(s.addr(0, 128, 0), 17) }

// metricsPort is that of the programs beside the clusters, as of those in pods.
const metricsPort = 9100

// CloudMetrics is where the simulated cloud serves its metrics.
func (s Slot) CloudMetrics() netip.AddrPort { return netip.AddrPortFrom(s.addr(0, 0, 2), metricsPort) }

// NodesMetrics is where the process of the machines serves its metrics.
func (s Slot) NodesMetrics() netip.AddrPort { return netip.AddrPortFrom(s.addr(0, 0, 4), metricsPort) }

// Outside is the n-th address, from 0, for a control plane that runs outside any seed.
func (s Slot) Outside(n int) (netip.Addr, error) {
	if n < 0 || n >= outsides {
		return netip.Addr{}, fmt.Errorf("plan the address of control plane %d outside any seed: at most %d fit", n, outsides)
	}
	return s.addr(0, 0, byte(5+n)), nil
}

// outsides is how many control planes can run outside any seed at the same time.
const outsides = 200

// LinkPort is the port of every link, on an address of its own.
const LinkPort = 8443

// linksPerByte keeps .0 and .255, which look like network and broadcast addresses, out.
const linksPerByte = 254

// Link is the address of the n-th link, from 0.
func (s Slot) Link(n int) (netip.AddrPort, error) {
	if n < 0 || n >= 62*linksPerByte {
		return netip.AddrPort{}, fmt.Errorf("plan the address of link %d: a landscape has at most %d links", n,
			62*linksPerByte)
	}
	return netip.AddrPortFrom(s.addr(0, byte(1+n/linksPerByte), byte(1+n%linksPerByte)), LinkPort), nil
}
