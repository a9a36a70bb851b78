package link

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// core is what links of both forms are made of.
type core struct {
	name        string
	certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	upstream    *upstream
	log         logr.Logger
	clock       clock.Clock
	random      *rand.Rand
	silence     Silence
}

func newLink(c core) *Link {
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
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
		inlet:    newInlet(),
		stop:     stop,
		served:   make(chan struct{}),
	}
	l.server = newServer(ctx, c, l.counted(l.interposed(newForwarder(c.name, c.upstream, &l.traffic.errors, c.log))))
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
		ConnContext: withConn,
		ConnState:   c.silence.withDefaults().follow,
		ErrorLog:    errorLog(c.log),
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: c.certificate,
			NextProtos:     []string{"h2", "http/1.1"},
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
		next.ServeHTTP(w, r)
	})
}

// errorLog carries what net/http has to say, most of it about clients that break off.
func errorLog(l logr.Logger) *log.Logger { return log.New(logLines{l}, "", 0) }

type logLines struct{ log logr.Logger }

func (l logLines) Write(line []byte) (int, error) {
	l.log.V(1).Info("HTTP server", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
