package link

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exchange is one request under the faults of a link, on its way to the server and back.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	request *Request
	bare    http.Handler // the link's own work, without faults
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

// interposed serves requests under the faults of the link. While none acts on requests it looks at nothing but whether
// a request opens a watch, which is kept within reach of faults to come.
func (l *Link) interposed(next http.Handler) http.Handler {
	streamed := l.traffic.streamed(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := next
		if mayWatch(r) {
			to = streamed
		}
		p := l.traffic.plan.Load()
		if !p.serves {
			to.ServeHTTP(w, r)
			return
		}
		q := describe(r)
		p.serve(0, &exchange{w, r, &q, to}, to)
	})
}

// serve lets the faults from the i-th on act on a request, one inside the other, and the link's own work at last.
func (p *plan) serve(i int, x *exchange, last http.Handler) {
	for ; i < len(p.active); i++ {
		if a := p.active[i]; a.serve != nil && !a.isOver() && a.selects(x) {
			a.serve(a, x, func(x *exchange) { p.serve(i+1, x, last) })
			return
		}
	}
	last.ServeHTTP(x.w, x.r)
}

func (a *active) selects(x *exchange) bool {
	if a.writes && !x.request.writes(x.r) || a.intended && a.match.noise(x.request) {
		return false
	}
	return a.match.fits(x.request, x.r)
}

// strike lets the fault hit a request, unless the fault has ended meanwhile. It counts once the hook, if there is one,
// has returned; until then the end can be awaited.
func (a *active) strike(x *exchange) bool {
	if !a.injection.strikes.enter() {
		return false
	}
	defer a.injection.strikes.leave()
	if hook := a.injection.hook; hook != nil {
		hook(x.r.Context(), *x.request)
	}
	a.hit()
	return true
}

// deny answers a request in place of the server; false when the fault has ended meanwhile.
func (a *active) deny(x *exchange, status *metav1.Status) bool {
	if !a.strike(x) {
		return false
	}
	a.traffic.errors.Add(1)
	x.w.Header().Set(proxyStatus, deniedStatus)
	x.refuse(status)
	return true
}

func (a *active) isOver() bool {
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// endless says that the answer cannot be kept back: it has no end that matters, or is no answer.
func (x *exchange) endless() bool {
	return x.request.Verb == VerbWatch || x.r.Header.Get("Upgrade") != ""
}

// keep has the request carried out and keeps the answer.
func (x *exchange) keep(next func(*exchange)) *answer {
	kept := &answer{header: http.Header{}}
	next(&exchange{kept, x.r, x.request, x.bare})
	return kept
}

// at strikes a request at a moment and does something then; the request ends there when that says false. A fault that
// is over when the moment comes strikes no more.
func (a *active) at(m Moment, x *exchange, next func(*exchange), do func() bool) {
	var kept *answer
	keeps := m == After && !x.endless()
	if keeps && a.carriedOut {
		kept = x.keep(next)
	}
	struck := (kept == nil || kept.success()) && a.injection.turns.next()
	if struck && keeps && kept == nil {
		kept = x.keep(next)
	}
	if struck && !a.isOver() && a.strike(x) && !do() {
		a.traffic.errors.Add(1)
		x.hangUp()
	}
	if kept == nil {
		next(x)
	} else {
		kept.send(x.w)
	}
}

// hangUp closes the client's connection, as when the network breaks: nothing that was under way on it is answered. A
// client that has given the request up already keeps the rest.
func (x *exchange) hangUp() {
	if c, ok := x.r.Context().Value(connKey{}).(*conn); ok && x.r.Context().Err() == nil {
		c.kill()
	}
	panic(http.ErrAbortHandler)
}
