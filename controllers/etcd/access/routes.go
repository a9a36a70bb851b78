package access

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
)

const (
	// MaxRequests is how many requests of one identity are under way on a server. Some wait for the end of an epoch.
	MaxRequests = 64
	// maxHeader is the size of a request's line and headers, in bytes.
	maxHeader = 4 << 10
	// headerDeadline bounds a TLS handshake, and the reading of a request.
	headerDeadline = 5 * time.Second
	// dialDeadline bounds the way of a client to a connection, with its TLS handshake.
	dialDeadline = 10 * time.Second
	// answerDeadline is longer than a guard lets a question stay open.
	answerDeadline = 30 * time.Second
	// idleDeadline is how long a connection stays open between two requests.
	idleDeadline = 30 * time.Second
)

// Route is one endpoint of an API, and who may ask there.
type Route struct {
	Method, Path string
	Allowed      []Identity
	Serve        func(http.ResponseWriter, *http.Request, Identity)
}

// Handler serves the routes to those who may ask there, and refuses everybody else.
func Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	underway := map[Identity]chan struct{}{}
	for _, route := range routes {
		for _, identity := range route.Allowed {
			if underway[identity] == nil {
				underway[identity] = make(chan struct{}, MaxRequests)
			}
		}
		mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) {
			identity, known := identityOf(r.TLS)
			switch {
			case !known:
				http.Error(w, "a client certificate of the shoot's etcd CA is needed", http.StatusUnauthorized)
				return
			case !slices.Contains(route.Allowed, identity):
				http.Error(w, fmt.Sprintf("%q may not %s %s", identity, route.Method, route.Path), http.StatusForbidden)
				return
			case r.ContentLength != 0:
				w.Header().Set("Connection", "close")
				http.Error(w, "a request has no body", http.StatusRequestEntityTooLarge)
				return
			}
			select {
			case underway[identity] <- struct{}{}:
				defer func() { <-underway[identity] }()
				route.Serve(w, r, identity)
			default:
				w.Header().Set("Connection", "close")
				http.Error(w, fmt.Sprintf("%q has %d requests under way", identity, MaxRequests), http.StatusTooManyRequests)
			}
		})
	}
	return mux
}

// Server bounds what a client can make it keep. Handshakes that failed are logged as details: anybody can cause them.
func Server(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerDeadline, WriteTimeout: answerDeadline, IdleTimeout: idleDeadline,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log), slog.LevelDebug),
	}
}
