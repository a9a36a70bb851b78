package seed

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Answers notes when an API server has answered last. Wrap it around the transport of clients that read from etcd: what
// comes from caches of the API server, and what a watch shows, says nothing about its etcd.
type Answers struct {
	Clock clock.PassiveClock

	last atomic.Pointer[time.Time]
}

// Wrap returns a transport that notes the successful answers of next.
func (a *Answers) Wrap(next http.RoundTripper) http.RoundTripper { return noting{next, a} }

// within reports whether the last answer is younger than d.
func (a *Answers) within(d time.Duration) bool {
	if a == nil {
		return false
	}
	last := a.last.Load()
	return last != nil && a.Clock.Since(*last) < d
}

type noting struct {
	http.RoundTripper
	answers *Answers
}

// RoundTrip implements http.RoundTripper.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		now := n.answers.Clock.Now()
		n.answers.last.Store(&now)
	}
	return response, err
}
