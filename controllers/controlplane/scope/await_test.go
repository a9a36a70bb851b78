package scope_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// The cache says when to ask, the API server decides, and a cache that says nothing is not believed for long.
func TestAwait_CacheAndAPIServer_CacheSaysWhenToAsk(t *testing.T) {
	t.Parallel()
	const never = 3600
	notYet := errors.New("not yet")
	for name, c := range map[string]struct {
		rings        bool          // each second
		cached, live time.Duration // when they say yes
		fatal        time.Duration // when the cache says that no waiting will mend it
		uncached     bool
		asked        int // requests to the API server
		after        time.Duration
	}{
		"both say yes":            {rings: true, cached: 10, live: 10, fatal: never, asked: 1, after: 10},
		"the cache is older":      {rings: true, cached: 0, live: 10, fatal: never, asked: 11, after: 10},
		"the cache has stopped":   {rings: true, cached: never, live: 10, fatal: never, asked: 1, after: 30},
		"no watch rings":          {cached: 10, live: 10, fatal: never, asked: 1, after: 30},
		"an error that was":       {rings: true, cached: never, live: 10, fatal: 10, asked: 1, after: 10},
		"nobody watches anything": {rings: true, live: 10, fatal: never, uncached: true, asked: 11, after: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{})
				s.WaitInterval, s.Watched = 30*time.Second, s.Garden
				if c.uncached {
					s.Watched = nil
				}
				begin, asked := time.Now(), 0
				done := make(chan struct{})
				go func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(time.Second):
						}
						if c.rings {
							s.Bell.Ring(s.Namespace())
						}
					}
				}()
				err := s.Await(t.Context(), time.Minute, "a sign", func(_ context.Context, from client.Reader) error {
					now := time.Since(begin)
					if from != s.Watched {
						asked++
					}
					switch {
					case from == s.Watched && now >= c.fatal*time.Second:
						return scope.Permanent(notYet)
					case from == s.Watched && now >= c.cached*time.Second, from != s.Watched && now >= c.live*time.Second:
						return nil
					}
					return notYet
				})
				close(done)
				if err != nil || asked != c.asked || time.Since(begin) != c.after*time.Second {
					t.Errorf("%v after %s and %d requests, want none after %d s and %d", err, time.Since(begin), asked, c.after,
						c.asked)
				}
			})
		})
	}
}
