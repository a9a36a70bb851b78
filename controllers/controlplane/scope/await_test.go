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
		rings        time.Duration // in between
		cached, live time.Duration // when they say yes
		fatal        time.Duration // when the cache says that no waiting will mend it
		uncached     bool
		asked        int // requests to the API server
		after        time.Duration
	}{
		"both say yes":            {rings: 2, cached: 10, live: 10, fatal: never, asked: 2, after: 10},
		"the cache is older":      {rings: 2, cached: 0, live: 10, fatal: never, asked: 6, after: 10},
		"the cache has stopped":   {rings: 2, cached: never, live: 10, fatal: never, asked: 2, after: 31},
		"a ring just before":      {rings: 29, cached: never, live: 10, fatal: never, asked: 2, after: 31},
		"no watch rings":          {rings: never, cached: 10, live: 10, fatal: never, asked: 2, after: 31},
		"it is there already":     {rings: never, cached: never, live: 0, fatal: never, asked: 1, after: 1},
		"there when time is up":   {rings: 2, cached: never, live: 50, fatal: never, asked: 3, after: 60},
		"an error that was":       {rings: 2, cached: never, live: 10, fatal: 10, asked: 2, after: 10},
		"nobody watches anything": {rings: 2, live: 10, fatal: never, uncached: true, asked: 6, after: 10},
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
						case <-time.After(c.rings * time.Second):
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

// What a cache said last is no reason of a timeout: the API server is asked for it.
func TestAwait_TimeIsUp_APIServerSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := controlplanetest.Scope(t, "Reconcile", interceptor.Funcs{})
		s.WaitInterval, s.Watched = 30*time.Second, s.Garden
		old, now := errors.New("an old error"), errors.New("the error of now")
		time.AfterFunc(10*time.Second, func() { s.Bell.Ring(s.Namespace()) }) // between two live answers
		err := s.Await(t.Context(), 20*time.Second, "a sign", func(_ context.Context, from client.Reader) error {
			if from == s.Watched {
				return old
			}
			return now
		})
		if timeout := (&scope.TimeoutError{}); !errors.As(err, &timeout) || !errors.Is(err, now) {
			t.Errorf("the wait ends with %v", err)
		}
	})
}
