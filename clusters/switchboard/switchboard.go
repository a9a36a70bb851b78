// Package switchboard holds the links of a landscape: it opens each when it is first asked for, keeps it, counts what
// crosses it, and closes all together.
//
// It knows neither where targets are nor on what addresses links listen: the backend says so. Faults are set on the
// links themselves.
package switchboard

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/clusters/link/forward"
)

// Targets of links that are no clusters.
const (
	Cloud       = "cloud"
	Shoots      = "shoots" // a forward proxy
	ShootPrefix = "shoot/" // one host behind it
)

// Options are what a backend knows.
type Options struct {
	// Authority signs for every link.
	Authority *pki.Authority
	// Listen is the address of the n-th link, from 0, as host:port; port 0 takes a free one.
	Listen func(n int) (string, error)
	// Upstream is where a direct link leads, and who vouches for it.
	Upstream func(target string) (*url.URL, *x509.CertPool, error)
	// Resolve finds the host of a shoot; Roots are the authorities trusted for it.
	Resolve forward.ResolveFunc
	Roots   func(host string) *x509.CertPool
	// Opened is called after a link has been opened; it may be nil.
	Opened func() error

	Log logr.Logger
}

// Arrow names a link and says where it is.
type Arrow struct{ Actor, Target, URL string }

type key struct{ actor, target string }

// Board holds the links that have been asked for.
type Board struct {
	options Options

	mutex   sync.Mutex
	direct  map[key]*link.Link
	proxies map[string]*link.Proxy // by actor
	kept    map[key]string         // addresses of links that are reopened
	next    int
	closed  bool
}

// New makes a board without links.
func New(options Options) *Board {
	return &Board{options: options, direct: map[key]*link.Link{}, proxies: map[string]*link.Proxy{}}
}

// Link is the link of an actor to a cluster, to the cloud, or to one shoot ("shoot/<host>"). It is opened when it is
// first asked for and stays until Close.
func (b *Board) Link(actor, target string) (*link.Link, error) {
	if host, isShoot := strings.CutPrefix(target, ShootPrefix); isShoot {
		proxy, err := b.Proxy(actor)
		if err != nil {
			return nil, err
		}
		return proxy.Link(host), nil
	}
	opened, fresh, err := b.link(actor, target)
	if err != nil {
		return nil, fmt.Errorf("open link(%s,%s): %w", actor, target, err)
	}
	return opened, b.notify(fresh)
}

// Proxy is the forward proxy through which an actor reaches shoots by name. Each host is a link of its own.
func (b *Board) Proxy(actor string) (*link.Proxy, error) {
	opened, fresh, err := b.proxy(actor)
	if err != nil {
		return nil, fmt.Errorf("open link(%s,%s): %w", actor, Shoots, err)
	}
	return opened, b.notify(fresh)
}

func (b *Board) notify(fresh bool) error {
	if !fresh || b.options.Opened == nil {
		return nil
	}
	return b.options.Opened()
}

func (b *Board) link(actor, target string) (_ *link.Link, fresh bool, err error) {
	upstream, roots, err := b.options.Upstream(target)
	if err != nil {
		return nil, false, err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if opened := b.direct[key{actor, target}]; opened != nil {
		return opened, false, nil
	}
	listen, err := b.address(key{actor, target})
	if err != nil {
		return nil, false, err
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, false, fmt.Errorf("read the address of the link: %w", err)
	}
	certificate, err := b.options.Authority.IssueServing(host, time.Now())
	if err != nil {
		return nil, false, err
	}
	opened, err := link.New(link.Options{
		Actor: actor, Target: target, Listen: listen, Certificate: *certificate,
		Upstream: upstream, UpstreamTLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Log: b.options.Log,
	})
	if err != nil {
		return nil, false, err
	}
	b.direct[key{actor, target}] = opened
	return opened, true, nil
}

func (b *Board) proxy(actor string) (_ *link.Proxy, fresh bool, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if opened := b.proxies[actor]; opened != nil {
		return opened, false, nil
	}
	listen, err := b.address(key{actor, Shoots})
	if err != nil {
		return nil, false, err
	}
	opened, err := link.NewProxy(link.ProxyOptions{
		Actor: actor, Listen: listen, CA: b.options.Authority,
		Resolve: b.options.Resolve, UpstreamRoots: b.options.Roots, Log: b.options.Log,
	})
	if err != nil {
		return nil, false, err
	}
	b.proxies[actor] = opened
	return opened, true, nil
}

// address is the one that the link is reopened at, or the next one nobody had. The caller holds the mutex.
func (b *Board) address(of key) (string, error) {
	if b.closed {
		return "", errors.New("the landscape has stopped")
	}
	if kept, is := b.kept[of]; is {
		return kept, nil
	}
	for had := slices.Collect(maps.Values(b.kept)); ; {
		listen, err := b.options.Listen(b.next)
		b.next++
		if err != nil || !slices.Contains(had, listen) {
			return listen, err
		}
	}
}

// Reopen opens the links that an earlier board had, at the same addresses. It comes before all others.
func (b *Board) Reopen(all []Arrow) error {
	b.kept = map[key]string{}
	for _, arrow := range all {
		at, err := url.Parse(arrow.URL)
		if err != nil {
			return fmt.Errorf("reopen link(%s,%s): %w", arrow.Actor, arrow.Target, err)
		}
		b.kept[key{arrow.Actor, arrow.Target}] = at.Host
	}
	for _, arrow := range all {
		var err error
		if arrow.Target == Shoots {
			_, err = b.Proxy(arrow.Actor)
		} else {
			_, err = b.Link(arrow.Actor, arrow.Target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CA is the certificate, in PEM, of the authority that signs for every link. Kubeconfigs of actors trust it.
func (b *Board) CA() []byte { return b.options.Authority.PEM() }

// Close closes all links. None is opened afterwards.
func (b *Board) Close() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.closed = true
	var errs []error
	for _, opened := range b.direct {
		errs = append(errs, opened.Close())
	}
	for _, opened := range b.proxies {
		errs = append(errs, opened.Close())
	}
	clear(b.direct)
	clear(b.proxies)
	return errors.Join(errs...)
}

// Traffic is what has crossed the links of an actor to a target since they were opened.
type Traffic struct {
	Actor, Target string
	link.Stats
	Kinds link.Kinds
}

// Traffic counts what has crossed the links, sorted by actor and target; those of an actor to shoots are added up.
func (b *Board) Traffic() []Traffic {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var all []Traffic
	for arrow, opened := range b.direct {
		all = append(all, Traffic{arrow.actor, arrow.target, opened.Stats(), opened.Kinds()})
	}
	for actor, opened := range b.proxies {
		all = append(all, Traffic{actor, Shoots, opened.Stats(), opened.Kinds()})
	}
	slices.SortFunc(all, func(a, b Traffic) int {
		return cmp.Or(strings.Compare(a.Actor, b.Actor), strings.Compare(a.Target, b.Target))
	})
	return all
}

// Arrows lists the links, sorted by actor and target; of those to shoots the proxy stands for all.
func (b *Board) Arrows() []Arrow {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var all []Arrow
	for arrow, opened := range b.direct {
		all = append(all, Arrow{Actor: arrow.actor, Target: arrow.target, URL: opened.URL()})
	}
	for actor, opened := range b.proxies {
		all = append(all, Arrow{Actor: actor, Target: Shoots, URL: opened.URL()})
	}
	slices.SortFunc(all, func(a, b Arrow) int {
		return strings.Compare(a.Actor+" "+a.Target, b.Actor+" "+b.Target)
	})
	return all
}
