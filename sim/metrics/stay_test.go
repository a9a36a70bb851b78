package metrics_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/transplant-sim/transplant/sim/metrics"
)

// scene is an exporter, and who comes for its metrics.
type scene struct {
	t        *testing.T
	clock    *testingclock.FakeClock
	exporter *metrics.Exporter
	address  string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, clock: testingclock.NewFakeClock(time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC))}
	s.exporter = metrics.NewExporter(s.clock)
	var err error
	if s.address, err = s.exporter.Serve(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scene) fetch() {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.address+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		s.t.Fatal(err)
	}
}

// stay begins to stay, and returns once it waits.
func (s *scene) stay(ctx context.Context) (over chan struct{}) {
	s.t.Helper()
	over = make(chan struct{})
	go func() {
		defer close(over)
		s.exporter.Stay(ctx)
	}()
	for deadline := time.Now().Add(time.Minute); !s.clock.HasWaiters(); time.Sleep(time.Millisecond) {
		select {
		case <-over:
			s.t.Fatal("it does not stay")
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatal("it does not wait")
		}
	}
	return over
}

func (s *scene) ends(over chan struct{}) {
	s.t.Helper()
	select {
	case <-over:
	case <-time.After(time.Minute):
		s.t.Fatal("it stays for ever")
	}
}

func (s *scene) goesOn(over chan struct{}) {
	s.t.Helper()
	select {
	case <-over:
		s.t.Fatal("it has left too early")
	case <-time.After(20 * time.Millisecond):
	}
}

func TestStaysUntilTheMetricsAreFetched(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.exporter.Stay(t.Context()) // nobody has ever come
	s.fetch()
	over := s.stay(t.Context())
	s.goesOn(over)
	s.fetch()
	s.ends(over)
}

func TestStaysNoLongerThanTheyAreLikelyToBeFetched(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for interval, most := range map[time.Duration]time.Duration{
		time.Second: 15 * time.Second, 20 * time.Second: 40 * time.Second,
	} {
		s.fetch()
		s.clock.Step(interval)
		s.fetch()
		over := s.stay(t.Context())
		s.clock.Step(most - time.Second)
		s.goesOn(over)
		s.clock.Step(2 * time.Second)
		s.ends(over)
	}

	ctx, cancel := context.WithCancel(t.Context())
	over := s.stay(ctx)
	cancel() // the run was interrupted
	s.ends(over)

	s.clock.Step(2 * time.Minute)
	s.exporter.Stay(t.Context()) // who came has gone
}
