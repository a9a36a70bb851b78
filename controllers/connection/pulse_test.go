package connection_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/controllers/connection"
)

// Only what an API server can have answered from its storage alone shows that it serves.
func TestPulse_Answers_CountIfTheStorageGaveThem(t *testing.T) {
	t.Parallel()
	for request, counts := range map[string]bool{
		"GET 200 /api/v1/namespaces/kube-system":                                true,
		"GET 200 /api/v1/secrets?labelSelector=a%3Db":                           true,
		"POST 201 /api/v1/namespaces/a/secrets":                                 true,
		"PATCH 200 /api/v1/namespaces/a/secrets/b?fieldManager=c":               true,
		"GET 404 /api/v1/namespaces/a":                                          false,
		"GET 503 /api/v1/namespaces/a":                                          false,
		"POST 409 /api/v1/namespaces/a/secrets":                                 false,
		"GET 0 /api/v1/namespaces/a":                                            false,
		"GET 200 /api/v1/secrets?watch=true":                                    false,
		"GET 200 /api/v1/watch/secrets":                                         false,
		"GET 200 /api/v1/secrets?resourceVersion=0":                             false,
		"GET 200 /api/v1/secrets?resourceVersion=12&resourceVersionMatch=Exact": false,
		"POST 201 /api/v1/namespaces/a/secrets?dryRun=All":                      false,
		"GET 200 /api/v1/namespaces/a/services/b/proxy/api/v1/secrets":          false,
		"GET 200 /api/v1/namespaces/a/pods/b/log":                               false,
		"GET 200 /apis/metrics.k8s.io/v1beta1/nodes":                            false,
		"POST 201 /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":       false,
		"GET 200 /api/v1":  false,
		"GET 200 /api/v1/": false,
		"GET 200 /livez":   false,
	} {
		words := strings.Fields(request)
		status := map[string]int{"200": 200, "201": 201, "404": 404, "409": 409, "503": 503}[words[1]]
		begin := time.Unix(1000, 0)
		clock := testingclock.NewFakePassiveClock(begin)
		pulse := &connection.Pulse{Clock: clock}
		transport := pulse.Wrap(roundTrip(func(*http.Request) (*http.Response, error) {
			clock.SetTime(begin.Add(time.Minute)) // an answer shows that the server served after the request, not when it came
			if status == 0 {
				return nil, errors.New("no answer")
			}
			return &http.Response{StatusCode: status, Body: http.NoBody}, nil
		}))
		r, err := http.NewRequestWithContext(t.Context(), words[0], "https://seed.test"+words[2], nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := transport.RoundTrip(r); (err != nil) != (status == 0) {
			t.Errorf("%s: %v", request, err)
		} else if err == nil {
			answer.Body.Close()
		}
		want := time.Time{}
		if counts {
			want = begin
		}
		if got := pulse.Last(); !got.Equal(want) {
			t.Errorf("%s: last seen at %v, want %v", request, got, want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
