package contract

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// waits are the objects whose action has returned a Pending with Still.
type waits struct{ byObject sync.Map }

// wait lasts until its end, unless the object is asked for something else, or what is waited for is there.
type wait struct {
	*Pending
	end     time.Time
	asked   bool // the API server, when After was over
	request Request
	op      gardencorev1beta1.LastOperationType
	// generation is that of the object for which the action was called.
	generation int64
}

func (w *waits) begin(key client.ObjectKey, begun wait) {
	if begun.Still != nil {
		w.byObject.Store(key, begun)
	}
}

// stillWaits is how long an action need not be called, as far as watches show. They may show nothing: when its Pending
// said, the API server is asked for what is waited for. The next time the action is called. What watches show to be
// there ends the wait; it is nil if the wait ends otherwise.
func (r *Reconciler[T]) stillWaits(ctx context.Context, key client.ObjectKey) (left time.Duration, over *wait) {
	found, waiting := r.waits.byObject.Load(key)
	if !waiting {
		return 0, nil
	}
	w, obj := found.(wait), r.Kind.empty()
	from := r.known()
	left = w.end.Sub(r.Clock.Now())
	if left <= 0 && !w.asked {
		left, from = w.After, client.Reader(r.Client)
		w.end, w.asked = r.Clock.Now().Add(left), true
		r.waits.byObject.Store(key, w)
	}
	if left > 0 && from.Get(ctx, key, obj) == nil && obj.GetDeletionTimestamp() == nil &&
		w.asks(RequestOf(obj)) {
		if w.Still(ctx, from) {
			return left, nil
		}
		over = &w
	}
	r.waits.byObject.Delete(key)
	return 0, over
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
