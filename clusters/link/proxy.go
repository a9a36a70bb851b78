package link

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/api/pki"
	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// ProxyOptions describe the links of an actor to targets it reaches by name: the shoots.
type ProxyOptions struct {
	// Actor names the links: "link(actor,shoot/host)".
	Actor string
	// Listen is the address of the proxy, as host:port; port 0 takes a free one.
	Listen string
	// CA makes a certificate for each host.
	CA *pki.Authority
	// Resolve looks hosts up.
	Resolve forward.ResolveFunc
	// UpstreamRoots are the roots that vouch for a host; nil trusts the system's. It is asked for every new connection.
	UpstreamRoots func(host string) *x509.CertPool

	Log logr.Logger
	// Clock moves faults and ages addresses; the real one by default.
	Clock clock.Clock
	// Seed starts the jitter's dice of each host; unpredictable when 0.
	Seed uint64
	// Silence bounds how long a client may ask for nothing, once it has said which host it wants.
	Silence wire.Silence
}

// Proxy is an HTTP CONNECT proxy whose every host is a link of its own, made when the host is first asked for. Hosts
// are names: it leads to no address that its client chose.
type Proxy struct {
	options ProxyOptions
	name    string
	door    *wire.Door

	mu        sync.Mutex
	links     map[string]*hosted
	uses      uint64
	gone      Stats                           // of links that were dropped
	goneKinds Kinds                           // likewise
	all       map[*Injection]map[*Link]func() // for all hosts, with how to end them where they act
	callers   map[net.Conn]struct{}           // that have not said yet where they want to go
	closed    bool
	calls     sync.WaitGroup
}

// NewProxy opens a proxy and serves it until it is closed.
func NewProxy(o ProxyOptions) (*Proxy, error) {
	o.Clock = cmp.Or[clock.Clock](o.Clock, clock.RealClock{})
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	o.Seed = cmp.Or(o.Seed, rand.Uint64())
	p := &Proxy{
		options:   o,
		name:      linkName(o.Actor, "shoots"),
		links:     map[string]*hosted{},
		goneKinds: Kinds{},
		all:       map[*Injection]map[*Link]func(){},
		callers:   map[net.Conn]struct{}{},
	}
	d, err := wire.OpenDoor(o.Listen, p.take, o.Log.WithValues("link", p.name))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.name, err)
	}
	p.door = d
	return p, nil
}

// Name is "link(actor,shoots)".
func (p *Proxy) Name() string { return p.name }

// URL is what the actor's kubeconfigs name as proxy-url.
func (p *Proxy) URL() string { return "http://" + p.door.Address() }

// Link is the link to a host. It exists from the first call on, or from the first connection; one that was asked for
// here stays.
func (p *Proxy) Link(host string) *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(normal(host))
	h.pinned = true
	return h.Link
}

func (p *Proxy) newLink(host string) *Link {
	certificate := sync.OnceValues(func() (*tls.Certificate, error) {
		return p.options.CA.IssueServing(host, time.Now())
	})
	verify := func() *tls.Config {
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
		if p.options.UpstreamRoots != nil {
			config.RootCAs = p.options.UpstreamRoots(host)
		}
		return config
	}
	l := newLink(core{
		name:        linkName(p.options.Actor, "shoot/"+host),
		certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
		upstream: forward.NewUpstream(connectTarget, verify,
			forward.NewResolver(host, p.options.Resolve, p.options.Clock)),
		log:     p.options.Log,
		clock:   p.options.Clock,
		random:  rand.New(rand.NewPCG(p.options.Seed, hash(host))),
		silence: p.options.Silence,
	})
	l.url = "https://" + host
	if p.closed {
		_ = l.Close() // a link without a proxy carries nothing
	}
	return l
}

// Links are the links that exist, by name.
func (p *Proxy) Links() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*Link
	for _, h := range p.links {
		all = append(all, h.Link)
	}
	slices.SortFunc(all, func(a, b *Link) int { return strings.Compare(a.name, b.name) })
	return all
}

// Stats adds up the links.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	sum := p.gone
	p.mu.Unlock()
	for _, l := range p.Links() {
		sum = sum.plus(l.Stats())
	}
	return sum
}

// BeginAll lets a fault act on the links of all hosts, those to come included, until it is healed. It panics when the
// fault's values are not valid. The hook, if it is not nil, is called for every request that the fault hits.
func (p *Proxy) BeginAll(f Fault, hook requests.Hook) *Injection {
	i := newInjection(f, hook)
	i.undo = func() { p.endAll(i) }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[i] = map[*Link]func(){}
	for _, h := range p.links {
		p.all[i][h.Link] = h.traffic.begin(i)
	}
	return i
}

func (p *Proxy) endAll(i *Injection) {
	p.mu.Lock()
	ends := p.all[i]
	delete(p.all, i)
	p.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// Close closes the proxy and all its links.
func (p *Proxy) Close() error {
	p.door.Close()
	p.mu.Lock()
	p.closed = true
	for caller := range p.callers {
		_ = caller.Close()
	}
	p.mu.Unlock()
	var errs []error
	for _, l := range p.Links() {
		errs = append(errs, l.Close())
	}
	p.calls.Wait()
	return errors.Join(errs...)
}
