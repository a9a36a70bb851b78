package guard_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/transplant-sim/transplant/controllers/etcd/guard"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// sidecar accepts every question, is silent at first, and then says that the final snapshot is there.
type sidecar struct {
	silent int // questions
	asked  int
}

func (s *sidecar) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asked++; s.asked <= s.silent {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// served is a guard of an epoch that has answered.
func served(t *testing.T, clock ownership.Clock) *validity.Guard {
	t.Helper()
	g, err := validity.NewGuard(validity.GuardOptions{Self: owner, Timing: timing, Clock: clock,
		Remember: func(validity.Memory) error {
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []ownership.Source{ownership.Claim, ownership.Decision} {
		if err := g.Observe(source, validity.Observation{Started: clock.Now(), Record: owner}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// A sidecar that accepts the question and is silent is asked again: an epoch is not over without its final snapshot,
// whoever has ended it.
func TestASilentSidecarIsAskedUntilTheFinalSnapshotIsThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent     int
		superseded bool
	}{
		"planned, silent once":           {silent: 1},
		"planned, silent for minutes":    {silent: 15},
		"superseded, silent once":        {silent: 1, superseded: true},
		"superseded, silent for minutes": {silent: 15, superseded: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock, backup := ownershiptest.NewTime(), &sidecar{silent: c.silent}
				g := served(t, clock)
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				end := &guard.End{Guard: g, Clock: clock, Backup: "http://sidecar.test", Client: &http.Client{Transport: backup},
					Log: testr.New(t)}
				var err error
				if c.superseded {
					err = g.Observe(ownership.Decision, validity.Observation{Started: clock.Now(), Record: newer})
				} else {
					err = g.Fence()
				}
				if err != nil {
					t.Fatal(err)
				}
				end.Run(ctx)
				if finished := g.Memory().Fence.Finished; !finished || backup.asked != c.silent+1 {
					t.Errorf("finished: %t, asked %d times, want %d, after %v", finished, backup.asked, c.silent+1,
						time.Duration(clock.Now()))
				}
			})
		})
	}
}
