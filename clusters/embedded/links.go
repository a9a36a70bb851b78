package embedded

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"

	certutil "k8s.io/client-go/util/cert"

	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// newLinks makes the switchboard: each link listens on an address of its own.
func (l *Landscape) newLinks() *switchboard.Board {
	var shoots Shoots
	if l.options.Shoots != nil {
		shoots = l.options.Shoots(l)
	}
	if shoots.Resolve == nil {
		shoots.Resolve = switchboard.AskDNS(l.Slot().DNS().String())
	}
	l.resolve = shoots.Resolve
	return switchboard.New(switchboard.Options{
		Authority: l.keys.Links,
		Listen: func(n int) (string, error) {
			address, err := l.claim.Slot.Link(n)
			return address.String(), err
		},
		Upstream: l.upstream, Resolve: shoots.Resolve, Roots: shoots.Roots, Opened: l.WriteState, Log: l.options.Log,
	})
}

// Links are the links of actors to the clusters, to the cloud and to shoots.
func (l *Landscape) Links() *switchboard.Board { return l.links }

// Authorities sign for the landscape's servers and links.
func (l *Landscape) Authorities() *authorities.Landscape { return l.keys }

// upstream is where a direct link leads, and who vouches for it.
func (l *Landscape) upstream(target string) (*url.URL, *x509.CertPool, error) {
	if target == switchboard.Cloud {
		return &url.URL{Scheme: "https", Host: l.Slot().Cloud().String()}, l.keys.Servers.Pool(), nil
	}
	c, err := l.clusters.Find(target)
	if err != nil {
		return nil, nil, err
	}
	roots, err := certutil.NewPool(c.api.authority())
	if err != nil {
		return nil, nil, fmt.Errorf("read the authority of cluster %q: %w", target, err)
	}
	where, err := url.Parse(c.api.url())
	return where, roots, err
}

// Usage is what this process and everything that the landscape runs has used.
func (l *Landscape) Usage() ([]process.Usage, error) { return process.UsageFrom(os.Getpid()) }
