package actors

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// A seed's rights in the garden and in the cloud follow its shoots, which the garden-controller-manager sees when the
// gardenlet does. A request that comes before the right is sent again, for forbiddenLimit at most.
const (
	forbiddenPause = 100 * time.Millisecond
	forbiddenLimit = 10 * time.Second
)

// retryForbidden sends a request again that an API server, or the cloud, has refused as forbidden.
func retryForbidden(next http.RoundTripper) http.RoundTripper { return &forbiddenRetrier{next: next} }

type forbiddenRetrier struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r *forbiddenRetrier) RoundTrip(request *http.Request) (*http.Response, error) {
	timer := time.NewTimer(forbiddenLimit)
	defer timer.Stop()
	var refusal *http.Response
	for {
		response, err := r.next.RoundTrip(request)
		if err == nil && (response.StatusCode != http.StatusForbidden || request.Body != nil && request.GetBody == nil) {
			return response, nil
		}
		if err == nil {
			err = keepBody(response)
		}
		switch {
		case err != nil && refusal != nil && request.Context().Err() != nil: // it ended in the middle of this try
			return refusal, nil
		case err != nil:
			return nil, err
		}
		refusal = response
		select {
		case <-timer.C:
			return response, nil
		case <-request.Context().Done():
		case <-time.After(forbiddenPause):
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

// keepBody reads the reason of a refusal, so that it can be reported when the request's context has ended meanwhile.
func keepBody(response *http.Response) error {
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	return nil
}
