package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// closeTimeout bounds how long Close waits for requests that it has cancelled.
const closeTimeout = 10 * time.Second

// Options describe a link to a cluster or to the cloud.
type Options struct {
	// Actor and Target name the link: "link(actor,target)".
	Actor, Target string
	// Listen is the address the actor connects to, as host:port; port 0 takes a free one.
	Listen string
	// Certificate is what the link shows to the actor.
	Certificate tls.Certificate
	// Upstream is the target's URL, of which scheme and host are used.
	Upstream *url.URL
	// UpstreamTLS verifies the target; it names its roots, and the server name when that is not the URL's host.
	UpstreamTLS *tls.Config

	Log logr.Logger
	// Clock moves faults; the real one by default.
	Clock clock.Clock
	// Random rolls jitter; unpredictable by default. The link is its only user.
	Random *rand.Rand
	// Silence bounds how long a client may ask for nothing.
	Silence wire.Silence
}

// Link carries all traffic of one actor to one target.
type Link struct {
	name, url string
	traffic   *traffic
	upstream  *forward.Upstream
	server    *http.Server
	inlet     *wire.Inlet
	door      *wire.Door // nil behind a proxy
	stop      context.CancelFunc
	served    chan struct{}
}

// New opens a link and serves it until it is closed.
func New(o Options) (*Link, error) {
	name := linkName(o.Actor, o.Target)
	if o.Upstream == nil || o.Upstream.Host == "" {
		return nil, fmt.Errorf("open %s: no upstream", name)
	}
	verify := cmp.Or(o.UpstreamTLS, &tls.Config{MinVersion: tls.VersionTLS12})
	l := newLink(core{
		name:        name,
		certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &o.Certificate, nil },
		upstream:    forward.NewUpstream(fixedTarget(o.Upstream), verify.Clone, nil),
		log:         o.Log, clock: o.Clock, random: o.Random, silence: o.Silence,
	})
	d, err := wire.OpenDoor(o.Listen, l.take, o.Log.WithValues("link", name))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", name, err), l.Close())
	}
	l.door, l.url = d, "https://"+d.Address()
	l.traffic.changed = func(p *plan) { d.Shut(p.find(refuses) != nil) }
	return l, nil
}

// fixedTarget sends everything to one URL.
func fixedTarget(to *url.URL) func(*http.Request) (string, string) {
	return func(*http.Request) (string, string) { return to.Scheme, to.Host }
}

// take lets a client's socket in.
func (l *Link) take(socket net.Conn) {
	if c := l.traffic.admit(socket); c != nil {
		l.inlet.Put(c)
	}
}

// Name is "link(actor,target)".
func (l *Link) Name() string { return l.name }

// URL is what the actor's kubeconfig names as server. A link behind a proxy is reached by the name of its host.
func (l *Link) URL() string { return l.url }

// Inject lets a fault act on the link, on open connections too, until heal is called. It panics when the fault's values
// are not valid (see Fault.Validate). Several faults may act at a time.
func (l *Link) Inject(f Fault) (heal func()) { return l.Begin(f).Heal }

// Begin is Inject for callers that need the fault's hits afterwards.
func (l *Link) Begin(f Fault) *Injection { return l.BeginWith(f, nil) }

// BeginWith is Begin with a hook that is called for every request that the fault hits. Faults that act on bytes or on
// watches do not call it.
func (l *Link) BeginWith(f Fault, hook requests.Hook) *Injection {
	i := newInjection(f, hook)
	i.undo = l.traffic.begin(i)
	return i
}

// Close closes the link with all its connections and requests. It returns when nothing of it is left.
func (l *Link) Close() error {
	if l.door != nil {
		l.door.Close()
	}
	l.traffic.close()
	l.stop()
	err := l.server.Close()
	<-l.served
	idle := make(chan struct{})
	go func() {
		l.traffic.handlers.Wait()
		close(idle)
	}()
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-idle:
	case <-timeout.C:
		err = errors.Join(err, fmt.Errorf("close %s: requests still run after %s", l.name, closeTimeout))
	}
	l.upstream.Close()
	return err
}
