// Package forward passes requests on to the far end of a link and answers back, whole: bodies, trailers, streams and
// upgrades. It keeps the connections to the target, and looks its name up where it has one. It knows no faults and does
// not look into what it passes on.
package forward

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"github.com/go-logr/logr"
	"golang.org/x/net/http/httpguts"
)

// forwarder passes requests to the upstream and answers back, whole and unchanged but for the headers that belong to a
// single connection. Answers of unknown length are flushed chunk by chunk, so that watches are as prompt as without a
// link. It is leaner than httputil.ReverseProxy, which also drops request trailers and forwarding headers; upgrades,
// where bytes matter more than headers, are left to that.
type forwarder struct {
	name     string
	upstream *Upstream
	upgrades http.Handler
	failed   *atomic.Int64
	log      logr.Logger
}

// New passes requests on to an upstream. It says its name in the answers that it gives itself, and counts what has
// failed for another reason than that the client has gone.
func New(name string, u *Upstream, failed *atomic.Int64, log logr.Logger) http.Handler {
	f := &forwarder{name: name, upstream: u, failed: failed, log: log}
	f.upgrades = &httputil.ReverseProxy{
		Rewrite:      rewriteUpgrade,
		Transport:    roundTripper(f.roundTripUpgrade),
		ErrorHandler: f.fail,
		ErrorLog:     ErrorLog(log),
	}
	return f
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if httpguts.HeaderValuesContainsToken(r.Header["Connection"], "Upgrade") {
		f.upgrades.ServeHTTP(w, r)
		return
	}
	out := outgoing(r)
	if out.Body != nil {
		// The transport may still read the body when the answer has come early; the server does not like that.
		defer out.Body.Close()
	}
	response, done, err := f.upstream.roundTrip(out, false)
	if err != nil {
		f.fail(w, r, err)
		return
	}
	defer done()
	defer response.Body.Close()
	f.count(response)
	copyResponseHeader(w.Header(), response, r.ProtoMajor)
	w.WriteHeader(response.StatusCode)
	if err := copyBody(w, response); err != nil {
		if r.Context().Err() == nil {
			f.failed.Add(1)
		}
		f.log.V(1).Info("Answer broken off", "method", r.Method, "path", r.URL.Path, "error", err.Error())
		panic(http.ErrAbortHandler) // breaks the client's response too
	}
	copyTrailer(w.Header(), response)
}

// count an answer that says that the server could not.
func (f *forwarder) count(response *http.Response) {
	if response.StatusCode >= http.StatusInternalServerError {
		f.failed.Add(1)
	}
}

func (f *forwarder) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone, or the link has been closed
	}
	f.failed.Add(1)
	f.log.V(1).Info("Upstream does not answer", "method", r.Method, "path", r.URL.Path, "error", err.Error())
	if _, ok := errors.AsType[unsentError](err); ok {
		w.Header().Set(proxyStatus, unsentStatus)
	}
	http.Error(w, fmt.Sprintf("%s: %v", f.name, err), http.StatusBadGateway)
}

// outgoing is the request as the upstream gets it. It shares the incoming request's body and trailers.
func outgoing(r *http.Request) *http.Request {
	out := r.WithContext(r.Context())
	out.URL = new(url.URL)
	*out.URL = *r.URL
	out.RequestURI, out.Close = "", false
	if r.ContentLength == 0 {
		out.Body = nil
	}
	out.Header = make(http.Header, len(r.Header)+1)
	copyHeader(out.Header, r.Header)
	if httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers") {
		out.Header["Te"] = []string{"trailers"} // gRPC insists
	}
	if _, ok := r.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // or else the transport names itself
	}
	return out
}

// rewriteUpgrade undoes what ReverseProxy does to a request that is only passing through.
func rewriteUpgrade(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = r.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
}

func (f *forwarder) roundTripUpgrade(r *http.Request) (*http.Response, error) {
	response, done, err := f.upstream.roundTrip(r, true)
	if err != nil {
		return nil, err
	}
	done() // an upgraded connection has left its transport
	f.count(response)
	return response, nil
}

// made are headers that net/http's server makes up when they are absent, but for a nil value. Over HTTP/1 the length is
// part of the framing and stays its business.
var made = map[int][]string{1: {"Date", "Content-Type"}, 2: {"Date", "Content-Type", "Content-Length"}}

func copyResponseHeader(to http.Header, response *http.Response, protocol int) {
	copyHeader(to, response.Header)
	for _, name := range made[protocol] {
		if _, ok := to[name]; !ok {
			to[name] = nil
		}
	}
	for name := range response.Trailer {
		to.Add("Trailer", name)
	}
}

// copyTrailer sets the trailers, those announced in the header and those that came as a surprise.
func copyTrailer(to http.Header, response *http.Response) {
	announced := to["Trailer"]
	for name, values := range response.Trailer {
		if !httpguts.HeaderValuesContainsToken(announced, name) {
			name = http.TrailerPrefix + name
		}
		to[name] = values
	}
}
