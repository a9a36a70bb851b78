package connection

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Pulse knows when an API server has last shown that it serves, with its storage, by what a program has asked it
// anyway.
type Pulse struct {
	Clock clock.PassiveClock

	last atomic.Pointer[time.Time]
}

// Last is when the newest request began that the API server has answered from its storage; zero before there is one.
func (p *Pulse) Last() time.Time {
	if last := p.last.Load(); last != nil {
		return *last
	}
	return time.Time{}
}

// Wrap watches the answers of an API server, as rest.Config.Wrap wants it. One config is for one API server.
func (p *Pulse) Wrap(inner http.RoundTripper) http.RoundTripper { return &pulseTransport{p, inner} }

type pulseTransport struct {
	pulse *Pulse
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *pulseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := t.pulse.Clock.Now()
	answer, err := t.inner.RoundTrip(r)
	if err != nil || answer.StatusCode < 200 || answer.StatusCode > 299 || !isLive(r) {
		return answer, err
	}
	for last := t.pulse.last.Load(); last == nil || last.Before(begin); last = t.pulse.last.Load() {
		if t.pulse.last.CompareAndSwap(last, &begin) {
			break
		}
	}
	return answer, nil
}

// isLive says whether a success of the request shows that the API server reaches its storage. Watches and reads of a
// version are answered from a cache. Other groups may be another server's, and reviews, dry runs and what is passed on
// to nodes, pods and services ask no storage.
func isLive(r *http.Request) bool {
	query := r.URL.Query()
	for _, key := range []string{"watch", "resourceVersion", "dryRun"} {
		if query.Has(key) {
			return false
		}
	}
	_, path, core := strings.Cut(r.URL.Path, "/api/v1/")
	parts := strings.Split(path, "/")
	return core && path != "" && !slices.ContainsFunc([]string{"watch", "proxy", "exec", "attach", "portforward", "log"},
		func(not string) bool { return slices.Contains(parts, not) })
}
