// Package cachefirst lets reconcilers ask the API server only when there is something to do. The cache says when to
// ask; what is then decided, and written, is read from the API server. It knows no kind, and keeps no cache itself.
package cachefirst

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconciler reconciles with the cache first. If that would write, or fails, it reconciles with the API server.
//
// An object that waits, which is one that the cache wants requeued, depends on no watch: one of those that wait is
// reconciled with the API server in each Fallback, in turn. So waits cost the same however many objects wait. If that
// writes, or ends the wait, the cache is behind: then all that wait are reconciled with the API server.
type Reconciler struct {
	// Of makes what reconciles with a client. It may have no effect but by that client until it has written with it.
	Of func(client.Client) reconcile.Reconciler
	// Live is an uncached client, Cached the cache of the manager.
	Live   client.Client
	Cached client.Reader
	// Locked says that all that decides about a write is in the object that is written, with an optimistic lock: then the
	// API server refuses what an old cache has decided, and only that is read again.
	Locked bool
	// First says that a wait begins with a read from the API server.
	First bool
	// Clock and Fallback may be missing where no object waits.
	Clock    clock.PassiveClock
	Fallback time.Duration

	mu      sync.Mutex
	last    time.Time                       // of an object that waits was reconciled with the API server
	waiting map[reconcile.Request]time.Time // since when the API server was not asked
	behind  time.Time                       // when the cache was last found to be behind
}

var _ reconcile.Reconciler = &Reconciler{}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	first := cached{r.Live, r.Cached}
	var with client.Client = reading{first}
	if r.Locked {
		with = first
	}
	result, err := r.Of(with).Reconcile(ctx, request)
	if err == nil && !r.isDue(request, result) {
		return result, nil
	}
	waited, live := err == nil, &noting{Client: r.Live}
	result, err = r.Of(live).Reconcile(ctx, request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || !r.waits(result) {
		delete(r.waiting, request) // the controller retries what failed, and nobody waits for that
	} else {
		r.wait(request)
	}
	if waited && err == nil && (live.wrote || !r.waits(result)) {
		r.behind = r.Clock.Now()
	}
	return result, err
}

func (r *Reconciler) waits(result reconcile.Result) bool {
	return result.RequeueAfter > 0 && r.Fallback > 0
}

func (r *Reconciler) wait(request reconcile.Request) {
	if r.waiting == nil {
		r.waiting = map[reconcile.Request]time.Time{}
	}
	r.waiting[request] = r.Clock.Now()
}

// isDue reports whether it is the turn of an object that waits, and notes whether it does.
func (r *Reconciler) isDue(request reconcile.Request, result reconcile.Result) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waits(result) {
		delete(r.waiting, request)
		return false
	}
	since, known := r.waiting[request]
	if !known {
		r.wait(request)
		return r.First
	}
	if since.Before(r.behind) {
		return true
	}
	now := r.Clock.Now()
	if now.Sub(r.last) < r.Fallback || now.Sub(since) < r.Fallback {
		return false
	}
	for _, other := range r.waiting {
		if other.Before(since) {
			return false
		}
	}
	r.last = now
	return true
}
