package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/link"
)

// Targets of links that are no clusters.
const (
	CloudTarget  = "cloud"
	ShootsTarget = "shoots" // a forward proxy
	shootPrefix  = "shoot/" // one host behind it
)

// arrow names a link.
type arrow struct{ actor, target string }

// links are those that have been asked for. The zero value is usable.
type links struct {
	mutex   sync.Mutex
	direct  map[arrow]*link.Link
	proxies map[string]*link.Proxy // by actor
	next    int
	closed  bool
}

// Link is the link of an actor to a cluster, to the cloud, or to one shoot ("shoot/<host>"). It is opened when it is
// first asked for and stays until the landscape stops.
func (l *Landscape) Link(actor, target string) (*link.Link, error) {
	if host, isShoot := strings.CutPrefix(target, shootPrefix); isShoot {
		proxy, err := l.Proxy(actor)
		if err != nil {
			return nil, err
		}
		return proxy.Link(host), nil
	}
	opened, fresh, err := l.directLink(actor, target)
	if err != nil {
		return nil, fmt.Errorf("open link(%s,%s): %w", actor, target, err)
	}
	if fresh {
		err = l.WriteState()
	}
	return opened, err
}

// Proxy is the forward proxy through which an actor reaches shoots by name. Each host is a link of its own.
func (l *Landscape) Proxy(actor string) (*link.Proxy, error) {
	opened, fresh, err := l.proxy(actor)
	if err != nil {
		return nil, fmt.Errorf("open link(%s,%s): %w", actor, ShootsTarget, err)
	}
	if fresh {
		err = l.WriteState()
	}
	return opened, err
}

func (l *Landscape) directLink(actor, target string) (_ *link.Link, fresh bool, err error) {
	upstream, roots, err := l.upstream(target)
	if err != nil {
		return nil, false, err
	}
	l.links.mutex.Lock()
	defer l.links.mutex.Unlock()
	key := arrow{actor, target}
	if opened := l.links.direct[key]; opened != nil {
		return opened, false, nil
	}
	listen, err := l.links.address(l.claim.Slot)
	if err != nil {
		return nil, false, err
	}
	certificate, err := link.CAOf(l.keys.links).Issue(listen.Addr().String())
	if err != nil {
		return nil, false, err
	}
	opened, err := link.New(link.Options{
		Actor: actor, Target: target, Listen: listen.String(), Certificate: *certificate,
		Upstream: upstream, UpstreamTLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Log: l.options.Log,
	})
	if err != nil {
		return nil, false, err
	}
	if l.links.direct == nil {
		l.links.direct = map[arrow]*link.Link{}
	}
	l.links.direct[key] = opened
	return opened, true, nil
}

func (l *Landscape) proxy(actor string) (_ *link.Proxy, fresh bool, err error) {
	var shoots Shoots
	if l.options.Shoots != nil {
		shoots = l.options.Shoots(l)
	}
	if shoots.Resolve == nil {
		shoots.Resolve = l.resolveByDNS
	}
	l.links.mutex.Lock()
	defer l.links.mutex.Unlock()
	if opened := l.links.proxies[actor]; opened != nil {
		return opened, false, nil
	}
	listen, err := l.links.address(l.claim.Slot)
	if err != nil {
		return nil, false, err
	}
	opened, err := link.NewProxy(link.ProxyOptions{
		Actor: actor, Listen: listen.String(), CA: link.CAOf(l.keys.links),
		Resolve: shoots.Resolve, UpstreamRoots: shoots.Roots, Log: l.options.Log,
	})
	if err != nil {
		return nil, false, err
	}
	if l.links.proxies == nil {
		l.links.proxies = map[string]*link.Proxy{}
	}
	l.links.proxies[actor] = opened
	return opened, true, nil
}

// upstream is where a direct link leads, and who vouches for it.
func (l *Landscape) upstream(target string) (*url.URL, *x509.CertPool, error) {
	if target == CloudTarget {
		return &url.URL{Scheme: "https", Host: l.Cloud().String()}, l.keys.landscape.Pool(), nil
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

// address is the next one nobody had. The caller holds the mutex.
func (s *links) address(slot address.Slot) (listen netip.AddrPort, err error) {
	if s.closed {
		return listen, errors.New("the landscape has stopped")
	}
	listen, err = slot.Link(s.next)
	s.next++
	return listen, err
}

func (s *links) close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	var errs []error
	for _, opened := range s.direct {
		errs = append(errs, opened.Close())
	}
	for _, opened := range s.proxies {
		errs = append(errs, opened.Close())
	}
	s.direct, s.proxies = nil, nil
	return errors.Join(errs...)
}

// Requests counts what every actor has sent over all of its links, those to shoots included.
func (l *Landscape) Requests() map[string]int64 {
	l.links.mutex.Lock()
	defer l.links.mutex.Unlock()
	sent := map[string]int64{}
	for key, opened := range l.links.direct {
		sent[key.actor] += opened.Stats().Requests
	}
	for actor, opened := range l.links.proxies {
		sent[actor] += opened.Stats().Requests
	}
	return sent
}

// CPU is the processor time of everything that the landscape runs, this process left out (see process.CPUBelow).
func (l *Landscape) CPU() (time.Duration, error) { return process.CPUBelow(os.Getpid()) }

func (s *links) state() []rundir.LinkState {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []rundir.LinkState
	for key, opened := range s.direct {
		all = append(all, rundir.LinkState{Actor: key.actor, Target: key.target, URL: opened.URL()})
	}
	for actor, opened := range s.proxies {
		all = append(all, rundir.LinkState{Actor: actor, Target: ShootsTarget, URL: opened.URL()})
	}
	slices.SortFunc(all, func(a, b rundir.LinkState) int {
		return strings.Compare(a.Actor+" "+a.Target, b.Actor+" "+b.Target)
	})
	return all
}
