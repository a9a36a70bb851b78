package actors

import (
	"io"
	"net/http"
	"time"
)

// A seed's rights in the garden follow its shoots, which the garden-controller-manager sees when the gardenlet does. Who asks
// faster than the right was given asks again, for patienceLimit at most.
const (
	patiencePause = 100 * time.Millisecond
	patienceLimit = 10 * time.Second
)

// patient asks an API server again that has refused a request as forbidden.
func patient(next http.RoundTripper) http.RoundTripper { return &patience{next: next} }

type patience struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p *patience) RoundTrip(request *http.Request) (*http.Response, error) {
	timer := time.NewTimer(patienceLimit)
	defer timer.Stop()
	for {
		response, err := p.next.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusForbidden || request.Body != nil && request.GetBody == nil {
			return response, err
		}
		select {
		case <-timer.C:
			return response, nil
		case <-request.Context().Done():
			return response, nil
		case <-time.After(patiencePause):
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // so that the connection is used again
		_ = response.Body.Close()
		request = request.Clone(request.Context())
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}
