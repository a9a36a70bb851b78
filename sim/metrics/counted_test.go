package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/clock"
)

// A scrape that Prometheus has given up before it was answered is none: the measures in it are lost.
func TestCounted_ScrapeThatIsGivenUp_IsNotServed(t *testing.T) {
	t.Parallel()
	e := NewExporter(clock.RealClock{})
	ctx, giveUp := context.WithCancel(t.Context())
	for _, c := range []struct {
		answers http.HandlerFunc
		served  bool
	}{
		{func(http.ResponseWriter, *http.Request) { giveUp() }, false},
		{func(http.ResponseWriter, *http.Request) {}, true},
	} {
		last, _ := e.fetches.patience(e.clock.Now())
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
		if c.served {
			request = request.WithContext(t.Context())
		}
		e.counted(c.answers).ServeHTTP(httptest.NewRecorder(), request)
		if served, _ := e.fetches.since(last); served != c.served {
			t.Errorf("served is %t, want %t", served, c.served)
		}
	}
}
