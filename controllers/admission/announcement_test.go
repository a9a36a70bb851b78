package admission

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// TestAnnouncement: the server serves late, its first registration fails, and then it is registered again from time to
// time.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	serving := []error{errors.New("not serving"), nil, nil, nil}
	applied := []error{errors.New("no route"), nil, nil}
	asked := make(chan string)
	c := testingclock.NewFakeClock(time.Unix(1700000000, 0))
	a := &announcement{
		clock: c,
		serving: func(*http.Request) error {
			err := serving[0]
			serving = serving[1:]
			if err != nil {
				asked <- "serving: " + err.Error()
			}
			return err
		},
		apply: func(context.Context) error {
			err := applied[0]
			applied = applied[1:]
			asked <- "applied"
			return err
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Start(ctx) }()
	for i, step := range []struct {
		event string
		code  int
		pause time.Duration
	}{
		{"serving: not serving", http.StatusServiceUnavailable, 20 * time.Millisecond},
		{"applied", http.StatusServiceUnavailable, time.Second},
		{"applied", http.StatusOK, 30 * time.Second},
		{"applied", http.StatusOK, 0},
	} {
		if got := <-asked; got != step.event {
			t.Fatalf("step %d: %s, want %s", i, got, step.event)
		}
		poll(t, "the announcement waits for the clock", func(context.Context) (bool, error) { return c.HasWaiters(), nil })
		recorder := httptest.NewRecorder()
		a.ServeHTTP(recorder, nil)
		if recorder.Code != step.code {
			t.Errorf("step %d: readiness %d, want %d", i, recorder.Code, step.code)
		}
		if step.pause > 0 {
			c.Step(step.pause - time.Nanosecond)
			if !c.HasWaiters() {
				t.Errorf("step %d: tried again before %s", i, step.pause)
			}
			c.Step(time.Nanosecond)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestServingCertificate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1700000000, 0)
	serving, bundle, err := newServingCertificate([]string{"127.16.64.9", "gcm.garden.svc"}, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		t.Fatal("the bundle holds no certificate")
	}
	leaf, err := x509.ParseCertificate(serving.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for host, fits := range map[string]bool{"127.16.64.9": true, "gcm.garden.svc": true, "127.16.64.10": false} {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if (err == nil) != fits {
			t.Errorf("verify %s: %v, want it to fit: %t", host, err, fits)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	c := &configuration{host: "127.16.64.9", port: 10443, caBundle: []byte("ca")}
	if got := *c.endpoint("/path").URL; got != "https://127.16.64.9:10443/path" {
		t.Errorf("by address: %s", got)
	}
	c.service = &types.NamespacedName{Namespace: "garden", Name: "gcm"}
	endpoint := c.endpoint("/path")
	if s := endpoint.Service; endpoint.URL != nil || *s.Namespace != "garden" || *s.Name != "gcm" || *s.Port != 10443 ||
		*s.Path != "/path" || string(endpoint.CABundle) != "ca" {
		t.Errorf("by service: %+v", endpoint)
	}
	if err := AddToManager(nil, Options{}); err == nil || !strings.Contains(err.Error(), "needs the address of its pod") {
		t.Errorf("without an address: %v", err)
	}
}
