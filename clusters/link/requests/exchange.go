// Package requests are the faults that act on requests to an API server, one at a time: what they select, when they
// strike, and what becomes of the request then. What a request wants is for package kubeapi to know, and how it comes
// to the server for package forward.
package requests

import (
	"fmt"
	"net/http"

	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
	"github.com/transplant-sim/transplant/clusters/link/wire"
)

// Exchange is one request under the faults of a link, on its way to the server and back.
type Exchange struct {
	W       http.ResponseWriter
	R       *http.Request
	Request *kubeapi.Request
	Bare    http.Handler // the link's own work, without faults
}

// Moment is when a fault strikes a request. The zero value means Before.
type Moment string

// Moments of a request.
const (
	Before Moment = "Before" // the server has not seen it
	After  Moment = "After"  // the server has carried it out, and the client does not know yet
)

func (m Moment) validate() error {
	switch m {
	case "", Before, After:
		return nil
	}
	return fmt.Errorf("unknown moment %q: must be %q or %q", string(m), Before, After)
}

// Serve lets faults act on a request, one inside the other, and the link's own work at last.
func Serve(faults []*Active, x *Exchange, last http.Handler) {
	for i, a := range faults {
		if a.Serve != nil && !a.IsOver() && a.selects(x) {
			a.Serve(a, x, func(x *Exchange) { Serve(faults[i+1:], x, last) })
			return
		}
	}
	last.ServeHTTP(x.W, x.R)
}

// endless says that the answer cannot be kept back: it has no end that matters, or is no answer.
func (x *Exchange) endless() bool {
	return x.Request.Verb == kubeapi.VerbWatch || x.R.Header.Get("Upgrade") != ""
}

// follows says that the answer ends when the client wants it to, although it is no watch: a log that is followed.
func (x *Exchange) follows() bool {
	return x.Request.Subresource == "log" && kubeapi.IsTrue(x.R.URL.Query().Get("follow"))
}

// Keep has the request carried out and keeps the answer.
func (x *Exchange) Keep(next func(*Exchange)) *Answer {
	kept := NewAnswer()
	next(&Exchange{kept, x.R, x.Request, x.Bare})
	return kept
}

// Answered has the request carried out and passes the answer on as it comes. Before the client has anything of it,
// begin sees status and header, may change the header, and gives the status to send.
func (x *Exchange) Answered(next func(*Exchange), begin func(status int, header http.Header) int) {
	p := &passing{ResponseWriter: x.W, begin: begin}
	next(&Exchange{p, x.R, x.Request, x.Bare})
	p.beginNow() // of an answer that is empty
}

// hangUp closes the client's connection, as when the network breaks: nothing that was under way on it is answered. A
// client that has given the request up already keeps the rest.
func (x *Exchange) hangUp() {
	if c := wire.FromContext(x.R.Context()); c != nil && x.R.Context().Err() == nil {
		c.Kill()
	}
	panic(http.ErrAbortHandler)
}
