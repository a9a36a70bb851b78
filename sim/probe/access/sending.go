package access

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Sending says whether a request has left: one that has not cannot have had an effect.
type Sending struct{ left atomic.Bool }

type sendingKey struct{}

// Watch gives the context of the one request that is meant.
func (s *Sending) Watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, sendingKey{}, s), &httptrace.ClientTrace{WroteHeaders: func() {
		s.left.Store(true)
	}})
}

// noticing has it noticed whether a request got no further than the link.
func noticing(config *rest.Config) *rest.Config {
	noticing := rest.CopyConfig(config)
	noticing.Wrap(func(next http.RoundTripper) http.RoundTripper { return noticer{next} })
	return noticing
}

type noticer struct{ http.RoundTripper }

// RoundTrip passes the request on.
func (n noticer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.RoundTripper.RoundTrip(r)
	if s, ok := r.Context().Value(sendingKey{}).(*Sending); ok && err == nil && forward.Unsent(answer.Header) {
		s.left.Store(false)
	}
	return answer, err
}

// OutcomeOf a request that may have an effect, and the HTTP status if a server has answered.
func (s *Sending) OutcomeOf(err error) (timeline.Outcome, int) {
	if err == nil {
		return timeline.Acknowledged, http.StatusOK
	}
	status := StatusOf(err)
	switch {
	case !s.left.Load():
		return timeline.Failed, 0
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError && status != http.StatusRequestTimeout:
		return timeline.Failed, status
	}
	return timeline.Unknown, status
}
