package requests

import (
	"errors"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/link/kubeapi"
)

// Fault is a harm to requests to an API server.
type Fault interface {
	// Name is the fault as people write it, such as "Hold(patch shoots)".
	Name() string
	// Validate says what is wrong with the values of the fault.
	Validate() error
	// Start begins the fault on one link.
	Start() Effect
}

// Effect is what a fault does to the requests that it selects, as data.
type Effect struct {
	// Match selects the requests, or watches; with Writes only such as may change what the server stores.
	Match  kubeapi.Match
	Writes bool
	// Intended leaves out Leases and Events, unless Match names the resource.
	Intended bool
	// Answers leaves out, where the moment is After, what the server has answered otherwise: it takes no turn.
	Answers func(status int, header http.Header) bool
	// Serve acts on a selected request; next brings it to the server and the answer back.
	Serve func(a *Active, x *Exchange, next func(*Exchange))
}

// Active is a fault at work on one link.
type Active struct {
	Effect
	// Injection counts what the fault hits on all links where it is at work.
	Injection *Hits
	// Hits and Errors are those of the link.
	Hits, Errors *atomic.Int64
	Clock        clock.Clock
	// Over is closed when the fault has ended on this link.
	Over chan struct{}
}

// Hit counts one.
func (a *Active) Hit() {
	a.Injection.count.Add(1)
	a.Hits.Add(1)
}

// NextTurn counts a selected request, or watch, and says whether the fault hits it.
func (a *Active) NextTurn() bool { return a.Injection.turns.next() }

// IsOver says whether the fault has ended on this link.
func (a *Active) IsOver() bool {
	select {
	case <-a.Over:
		return true
	default:
		return false
	}
}

func (a *Active) selects(x *Exchange) bool {
	if a.Writes && !x.Request.Writes(x.R) || a.Intended && a.Match.IsNoise(x.Request) {
		return false
	}
	return a.Match.Fits(x.Request, x.R)
}

// Strike lets the fault hit a request, unless the fault has ended meanwhile. It counts once the hook, if there is one,
// has returned; until then the end can be awaited.
func (a *Active) Strike(x *Exchange) bool {
	if !a.Injection.strikes.enter() {
		return false
	}
	defer a.Injection.strikes.leave()
	if hook := a.Injection.hook; hook != nil {
		hook(x.R.Context(), *x.Request)
	}
	a.Hit()
	return true
}

// deny answers a request in place of the server; false when the fault has ended meanwhile.
func (a *Active) deny(x *Exchange, status *metav1.Status) bool {
	if !a.Strike(x) {
		return false
	}
	a.Errors.Add(1)
	forward.MarkDenied(x.W.Header())
	kubeapi.WriteStatus(x.W, x.R, status)
	return true
}

// at strikes a request at a moment and does something then; the request ends there when that says false. A fault that
// is over when the moment comes strikes no more. After is when the header of the answer comes, before the client has
// it: the rest passes as it comes, however long that takes.
func (a *Active) at(m Moment, x *Exchange, next func(*Exchange), do func() bool) {
	strike := func() {
		if !a.IsOver() && a.Strike(x) && !do() {
			a.Errors.Add(1)
			x.hangUp()
		}
	}
	if m != After || x.endless() {
		if a.NextTurn() {
			strike()
		}
		next(x)
		return
	}
	if a.Answers == nil && !a.NextTurn() {
		next(x)
		return
	}
	x.Answered(next, func(status int, header http.Header) int {
		if a.Answers == nil || a.Answers(status, header) && a.NextTurn() {
			strike()
		}
		return status
	})
}

// valid finds what is wrong with a selection of requests.
func valid(m kubeapi.Match, t Turn, at ...Moment) error {
	errs := []error{m.Validate(), t.Validate()}
	for _, moment := range at {
		errs = append(errs, moment.validate())
	}
	return errors.Join(errs...)
}
