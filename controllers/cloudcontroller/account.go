package cloudcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/ownership/validity"
)

// Tags of what a shoot has in the cloud. The first is what the Infrastructure extension finds it by.
const (
	TagShoot = "transplant.dev/shoot"
	tagEpoch = "transplant.dev/epoch"
)

// validityRetry is the pause before an object is looked at again when this seed cannot prove that it owns the shoot.
const validityRetry = time.Second

// Owner lets mutating calls of the cloud pass only while this seed validly owns the shoot (docs/ownership.md#o8).
type Owner interface {
	// Own makes one call, and gives it the epoch of the ownership. The error is validity.ErrLapsed without one.
	Own(ctx context.Context, call func(ctx context.Context, epoch int64) error) error
}

// Account is the cloud as one shoot uses it.
type Account struct {
	Cloud *cloud.Client
	Owner Owner
	// Shoot is the technical id.
	Shoot string
}

// own makes a mutating call and adds the shoot's tags to what it makes.
func (a Account) own(ctx context.Context, call func(ctx context.Context, tags map[string]string) error) error {
	return a.Owner.Own(ctx, func(ctx context.Context, epoch int64) error {
		return call(ctx, map[string]string{TagShoot: a.Shoot, tagEpoch: fmt.Sprint(epoch)})
	})
}

// scoped makes the calls that only read the shoot's too.
func (a Account) scoped(ctx context.Context) context.Context {
	return cloud.WithScope(ctx, cloud.Scope{Shoot: a.Shoot})
}

// discard deletes what there may be; what is gone already is fine.
func discard[T any](ctx context.Context, a Account, from cloud.Collection[T], id string) error {
	err := a.own(ctx, func(ctx context.Context, _ map[string]string) error { return from.Delete(ctx, id) })
	if cloud.IsNotFound(err) {
		return nil
	}
	return err
}

// waitForOwnership wraps a reconciler. If this seed does not own the shoot, it waits: that is no failure of the object.
func (Account) waitForOwnership(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if errors.Is(err, validity.ErrLapsed) || cloud.IsStaleEpoch(err) {
			return reconcile.Result{RequeueAfter: validityRetry}, nil
		}
		return result, err
	})
}

// warn records an event on the object about what the cloud did not do. Users need no event if this seed does not own
// the shoot, or if another client has just written the object.
func warn(recorder events.EventRecorder, object client.Object, reason, action string, err error) {
	if err != nil && !errors.Is(err, validity.ErrLapsed) && !cloud.IsStaleEpoch(err) && !apierrors.IsConflict(err) {
		recorder.Eventf(object, nil, corev1.EventTypeWarning, reason, action, "%v", err)
	}
}
