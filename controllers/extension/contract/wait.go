package contract

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waits are the objects whose action has returned a Pending with Still.
type waits struct{ byObject sync.Map }

// wait lasts until its end, unless the object is asked for something else, or what is waited for is there.
type wait struct {
	end     time.Time
	request Request
	still   func(context.Context, client.Reader) bool
}

func (w *waits) begin(key client.ObjectKey, pending *Pending, now time.Time, request Request) {
	if pending.Still != nil {
		w.byObject.Store(key, wait{end: now.Add(pending.After), request: request, still: pending.Still})
	}
}

// stillWaits is how long an object need not be looked at, as far as watches show. If they show nothing it is looked at
// when its Pending said.
func (r *Reconciler[T]) stillWaits(ctx context.Context, key client.ObjectKey) time.Duration {
	found, waiting := r.waits.byObject.Load(key)
	if !waiting {
		return 0
	}
	w, obj := found.(wait), r.Kind.empty()
	left := w.end.Sub(r.Clock.Now())
	if left > 0 && r.known().Get(ctx, key, obj) == nil && obj.GetDeletionTimestamp() == nil &&
		w.asks(RequestOf(obj)) && w.still(ctx, r.known()) {
		return left
	}
	r.waits.byObject.Delete(key)
	return 0
}

// asks says whether a request is the one that is served, which may have been taken off meanwhile.
func (w wait) asks(request Request) bool { return request.Operation == "" || request == w.request }

// known is where the reconciler looks whether to look.
func (r *Reconciler[T]) known() client.Reader {
	if r.Known == nil {
		return r.Client
	}
	return r.Known
}
