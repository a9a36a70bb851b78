package actors

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers gives one status after the other, the last for ever, and keeps the bodies that it was sent.
type answers struct {
	statuses []int
	sent     []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(content)
	}
	status := a.statuses[min(len(a.sent), len(a.statuses)-1)]
	a.sent = append(a.sent, body)
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("why"))}, nil
}

// A right that is given a moment after the request is no refusal; one that is not given is, soon.
func TestRetryForbidden_RefusedRequest_IsSentAgainForAWhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		statuses []int
		body     io.Reader
		want     int
		sent     int
		within   time.Duration
	}{
		"allowed at once":     {[]int{200}, strings.NewReader("x"), 200, 1, 0},
		"allowed later":       {[]int{403, 403, 200}, strings.NewReader("x"), 200, 3, 200 * time.Millisecond},
		"never allowed":       {[]int{403}, strings.NewReader("x"), 403, 100, 10 * time.Second},
		"a read":              {[]int{403, 404}, nil, 404, 2, 100 * time.Millisecond},
		"a body that is gone": {[]int{403, 200}, io.MultiReader(strings.NewReader("x")), 403, 1, 0},
		"another refusal":     {[]int{409, 200}, strings.NewReader("x"), 409, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, begin := &answers{statuses: test.statuses}, time.Now()
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://garden.test", test.body)
				if err != nil {
					t.Fatal(err)
				}
				response, err := retryForbidden(server).RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				why, _ := io.ReadAll(response.Body)
				if response.StatusCode != test.want || string(why) != "why" || time.Since(begin) > test.within {
					t.Errorf("got %d %q after %v", response.StatusCode, why, time.Since(begin))
				}
				if n := len(server.sent); n < test.sent || n > test.sent+1 {
					t.Errorf("it was sent %d times, want %d", n, test.sent)
				}
				for i, body := range server.sent {
					if body != server.sent[0] {
						t.Errorf("try %d has the body %q", i, body)
					}
				}
			})
		})
	}
}

// A client that stops waiting gets what the last refusal said, though its connection ends with the request.
func TestRetryForbidden_ContextEnds_ReturnsTheReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://cloud.test", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := retryForbidden(refuser{}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if why, err := io.ReadAll(response.Body); err != nil || string(why) != "why" || ctx.Err() == nil {
			t.Errorf("got %q, error %v, context %v", why, err, ctx.Err())
		}
	})
}

// refuser refuses with bodies that cannot be read when their request's context has ended.
type refuser struct{}

func (refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden,
		Body: io.NopCloser(bodyOf{r.Context(), strings.NewReader("why")})}, nil
}

type bodyOf struct {
	ctx context.Context
	io.Reader
}

func (b bodyOf) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}
