package embedded

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Targets of links that are no clusters.
const (
	CloudTarget  = switchboard.Cloud
	ShootsTarget = switchboard.Shoots
)

// newLinks makes the switchboard: each link listens on an address of its own.
func (l *Landscape) newLinks() *switchboard.Board {
	var shoots Shoots
	if l.options.Shoots != nil {
		shoots = l.options.Shoots(l)
	}
	if shoots.Resolve == nil {
		shoots.Resolve = switchboard.AskDNS(l.DNS().String())
	}
	return switchboard.New(switchboard.Options{
		Authority: l.keys.Links,
		Listen: func(n int) (string, error) {
			address, err := l.claim.Slot.Link(n)
			return address.String(), err
		},
		Upstream: l.upstream, Resolve: shoots.Resolve, Roots: shoots.Roots, Opened: l.WriteState, Log: l.options.Log,
	})
}

// Link is the link of an actor to a cluster, to the cloud, or to one shoot ("shoot/<host>"). It is opened when it is
// first asked for and stays until the landscape stops.
func (l *Landscape) Link(actor, target string) (*link.Link, error) {
	return l.links.Link(actor, target)
}

// Proxy is the forward proxy through which an actor reaches shoots by name. Each host is a link of its own.
func (l *Landscape) Proxy(actor string) (*link.Proxy, error) { return l.links.Proxy(actor) }

// upstream is where a direct link leads, and who vouches for it.
func (l *Landscape) upstream(target string) (*url.URL, *x509.CertPool, error) {
	if target == CloudTarget {
		return &url.URL{Scheme: "https", Host: l.Cloud().String()}, l.keys.Servers.Pool(), nil
	}
	c, err := l.embedded(target)
	if err != nil {
		return nil, nil, err
	}
	authority, err := os.ReadFile(c.files.PKI().Certificate(program.ClusterCA))
	if err != nil {
		return nil, nil, fmt.Errorf("read the authority of cluster %q: %w", target, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	where, err := url.Parse(c.files.URL())
	return where, roots, err
}

// Traffic is what has crossed the links, by actor and target.
func (l *Landscape) Traffic() []switchboard.Traffic { return l.links.Traffic() }

// CPU is the processor time of everything that the landscape runs, this process left out (see process.CPUBelow).
func (l *Landscape) CPU() (time.Duration, error) { return process.CPUBelow(os.Getpid()) }

func (l *Landscape) linkStates() []rundir.LinkState {
	var all []rundir.LinkState
	for _, arrow := range l.links.Arrows() {
		all = append(all, rundir.LinkState{Actor: arrow.Actor, Target: arrow.Target, URL: arrow.URL})
	}
	return all
}
