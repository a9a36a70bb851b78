package actors

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// A seed's rights in the garden and in the cloud follow its shoots, which the garden-controller-manager sees when the
// gardenlet does. Who asks faster than the right was given asks again, for patienceLimit at most.
const (
	patiencePause = 100 * time.Millisecond
	patienceLimit = 10 * time.Second
)

// patient asks an API server, or the cloud, again that has refused a request as forbidden.
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
		if err := keepBody(response); err != nil {
			return nil, err
		}
		select {
		case <-timer.C:
			return response, nil
		case <-request.Context().Done():
		case <-time.After(patiencePause):
		}
		if request.Context().Err() != nil {
			return response, nil
		}
		request = request.Clone(request.Context())
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// keepBody reads the reason of a refusal, so that it can be told when the request's context has ended meanwhile.
func keepBody(response *http.Response) error {
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	return nil
}
