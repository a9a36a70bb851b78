package contract

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// actionError marks what is shown on the object. Errors of the reconciler's own writes are not: writing is what
// failed.
type actionError struct{ error }

func (e *actionError) Unwrap() error { return e.error }

func (r *Reconciler[T]) outcome(ctx context.Context, c *call[T], err error) (reconcile.Result, error) {
	if err == nil {
		return reconcile.Result{}, nil
	}
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictBackoff}, nil
	}
	var acted *actionError
	if !errors.As(err, &acted) {
		return reconcile.Result{}, err
	}
	if pending, is := errors.AsType[*Pending](err); is {
		r.waits.begin(client.ObjectKeyFromObject(c.obj), wait{Pending: pending, end: r.Clock.Now().Add(pending.After),
			request: c.request, op: c.op, generation: c.generation})
		return reconcile.Result{RequeueAfter: pending.After}, r.waiting(ctx, c, pending)
	}
	if context.Cause(ctx) != nil {
		return reconcile.Result{}, err
	}
	shown := r.failed(ctx, c.obj, c.op, c.generation, acted.error)
	return reconcile.Result{}, errors.Join(acted.error, client.IgnoreNotFound(shown))
}

func (r *Reconciler[T]) waiting(ctx context.Context, c *call[T], pending *Pending) error {
	description := fmt.Sprintf("Waiting for %s.", pending.For)
	last := c.obj.GetExtensionStatus().GetLastOperation()
	if last != nil && last.Description == description {
		return nil
	}
	return client.IgnoreNotFound(r.processing(ctx, c.obj, c.op, description))
}
