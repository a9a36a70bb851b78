package stage

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/world"
)

// answering is the way to a guard.
type answering func(*http.Request) *http.Response

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }

// What is no answer of a guard is unknown, not epoch 0.
func TestValidityIsWhatAGuardSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code       int
		body, want string
	}{
		"a guard":           {code: http.StatusOK, body: `{"owner":"u","epoch":2,"state":"Serving","remaining":"3s"}`},
		"an error":          {code: http.StatusServiceUnavailable, body: `{"message":"no"}`, want: "ask the guard: it answers 503 Service Unavailable"},
		"an error of epoch": {code: http.StatusInternalServerError, body: `{"epoch":2}`, want: "ask the guard: it answers 500 Internal Server Error"},
		"somebody else":     {code: http.StatusOK, body: `{"kind":"Status"}`, want: "read the guard's answer: it names no epoch"},
		"no JSON":           {code: http.StatusOK, body: `ok`, want: "read the guard's answer: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			w := &World{http: &http.Client{Transport: answering(func(r *http.Request) *http.Response {
				asked = r.URL.String()
				return &http.Response{StatusCode: c.code, Status: fmt.Sprintf("%d %s", c.code, http.StatusText(c.code)), Body: io.NopCloser(strings.NewReader(c.body)), Request: r}
			})}}
			got, err := w.validityOf("127.0.0.9")(t.Context())
			if asked != "http://127.0.0.9:2381/state" {
				t.Errorf("asked %s", asked)
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %+v, %v, want %q", got, err, c.want)
				}
				return
			}
			if diff := cmp.Diff(world.Validity{State: "Serving", Owner: "u", Epoch: 2, Remaining: 3 * time.Second}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
