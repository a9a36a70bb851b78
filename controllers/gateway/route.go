package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/controllers/etcd/access"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

const (
	// dialDeadline bounds the connection to a Service of the seed.
	dialDeadline = 5 * time.Second
	// validityPatience is how long a client waits for a route that is not valid: one that has just been made is within
	// moments.
	validityPatience = time.Second
	// keepAlive finds peers that are gone without a word.
	keepAlive = 15 * time.Second
)

// target is what a route is made of. Two equal targets need no new route.
type target struct {
	namespace string
	hosts     []string // sorted
	address   string   // of the API server's Service
	guard     string   // base URL of the guard
}

func (t target) equal(o target) bool {
	return t.namespace == o.namespace && t.address == o.address && t.guard == o.guard && slices.Equal(t.hosts, o.hosts)
}

// route carries the connections to one shoot, and holds the validity for them.
type route struct {
	target
	holder  *validity.Holder
	clock   ownership.Clock
	metrics *metrics
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the holder has stopped

	mu   sync.Mutex
	gone bool
	open map[*link]struct{}
}

// link is one connection carried: its two ends.
type link struct {
	client, server net.Conn
	ended          chan struct{} // closed when nothing is passed any more
	cut            atomic.Bool   // it did not end by itself
}

func (l *link) close() {
	l.cut.Store(true)
	l.client.Close()
	l.server.Close()
}

// newRoute starts to ask the guard for validity.
func newRoute(ctx context.Context, want target, t *table) (*route, error) {
	transport := access.Transport(func(context.Context) (access.Credentials, error) {
		return t.guardAccess(want.namespace)
	})
	holder, err := validity.NewHolder(want.guard, t.name, t.clock, transport)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &route{target: want, holder: holder, clock: t.clock, metrics: t.metrics, cancel: cancel,
		ended: make(chan struct{}), open: map[*link]struct{}{}}
	go func() {
		defer close(r.ended)
		holder.Run(ctx, t.interval, r.cut)
	}()
	return r, nil
}

// remove ends the route: its connections are cut and no new ones are taken.
func (r *route) remove() {
	r.mu.Lock()
	r.gone = true
	r.mu.Unlock()
	r.cancel()
	r.cut()
	<-r.ended
}

// cut closes all connections, and returns when nothing of them can be passed any more.
func (r *route) cut() {
	r.mu.Lock()
	links := slices.Collect(maps.Keys(r.open))
	r.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	for _, l := range links {
		<-l.ended
	}
}

// track registers a connection, unless the route is gone or the term over.
func (r *route) track(term *validity.Term, l *link) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone || !term.Valid() {
		return false
	}
	r.open[l] = struct{}{}
	r.metrics.open.Inc()
	return true
}

func (r *route) untrack(term *validity.Term, l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, l)
	r.metrics.open.Dec()
	if l.cut.Load() || !term.Valid() {
		r.metrics.cut.Inc()
	}
	close(l.ended)
}

// term is the present validity, after a short wait if there is none.
func (r *route) term(ctx context.Context) (*validity.Term, error) {
	changed := r.holder.Changed()
	if term := r.holder.Term(); term.Valid() {
		return term, nil
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-r.clock.After(validityPatience):
	}
	if term := r.holder.Term(); term.Valid() {
		return term, nil
	}
	return nil, fmt.Errorf("carry a connection to %s: %w", r.namespace, validity.ErrLapsed)
}

// errUnreachable says that a Service takes no connections.
var errUnreachable = errors.New("the service takes no connections")

// carry passes bytes between the client and the Service it wants until both have ended, or the validity has. What is
// carried is counted when it begins.
func (r *route) carry(ctx context.Context, wish call, carried prometheus.Counter) error {
	term, err := r.term(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialDeadline)
	defer cancel()
	server, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, "tcp", wish.address)
	if err != nil {
		return fmt.Errorf("reach the service of %s: %w: %w", r.namespace, errUnreachable, err)
	}
	defer server.Close()
	l := &link{client: wish.client, server: server, ended: make(chan struct{})}
	if !r.track(term, l) {
		return fmt.Errorf("carry a connection to %s: %w", r.namespace, validity.ErrLapsed)
	}
	defer r.untrack(term, l)
	carried.Inc()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-term.Done():
			l.close()
		case <-stop:
		}
	}()
	client := &validity.Conn{Conn: wish.client, Term: term}
	if _, err := client.Write(wish.welcome); err != nil {
		return nil // it has gone, as it may at any time
	}
	join(client, &validity.Conn{Conn: server, Term: term}, r.metrics)
	return nil
}
