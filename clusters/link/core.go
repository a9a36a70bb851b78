package link

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/watches"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// core is what links of both forms are made of.
type core struct {
	name        string
	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	upstream    *forward.Upstream
	log         logr.Logger
	clock       clock.Clock
	random      *rand.Rand
	silence     wire.Silence
}

func newLink(c core) *Link {
	c.clock = cmp.Or[clock.Clock](c.clock, clock.RealClock{})
	if c.random == nil {
		c.random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if c.log.GetSink() == nil {
		c.log = logr.Discard()
	}
	c.log = c.log.WithValues("link", c.name)
	ctx, stop := context.WithCancel(context.Background())
	l := &Link{
		name:     c.name,
		traffic:  newTraffic(c.clock, c.random),
		upstream: c.upstream,
		inlet:    wire.NewInlet(),
		stop:     stop,
		served:   make(chan struct{}),
	}
	l.server = newServer(ctx, c, l.counted(l.interposed(forward.New(c.name, c.upstream, &l.traffic.errors, c.log))))
	go func() {
		defer close(l.served)
		_ = l.server.ServeTLS(l.inlet, "", "") // ends when the link is closed
	}()
	return l
}

func newServer(ctx context.Context, c core, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:     handler,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: wire.WithConn,
		ConnState:   c.silence.WithDefaults().Follow,
		ErrorLog:    forward.ErrorLog(c.log),
		TLSConfig: &tls.Config{
			MinVersion:       tls.VersionTLS12,
			GetCertificate:   c.certificate,
			NextProtos:       []string{"h2", "http/1.1"},
			CurvePreferences: forward.Curves(),
		},
	}
}

func linkName(actor, target string) string { return fmt.Sprintf("link(%s,%s)", actor, target) }

func (l *Link) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.traffic.enter(); err != nil {
			panic(http.ErrAbortHandler)
		}
		defer l.traffic.leave()
		q := kubeapi.Describe(r)
		l.traffic.kinds.count(q.Kind())
		next.ServeHTTP(w, r)
	})
}

// interposed serves requests under the faults of the link. While none acts on requests it looks at nothing but whether
// a request opens a watch, which is kept within reach of faults to come.
func (l *Link) interposed(next http.Handler) http.Handler {
	reachable := watches.Reachable(next, l.traffic.join, l.traffic.part)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := next
		if kubeapi.MayWatch(r) {
			to = reachable
		}
		p := l.traffic.plan.Load()
		if !p.serves {
			to.ServeHTTP(w, r)
			return
		}
		q := kubeapi.Describe(r)
		requests.Serve(p.requests, &requests.Exchange{W: w, R: r, Request: &q, Bare: to}, to)
	})
}
