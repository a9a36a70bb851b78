package contract

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

func (r *Reconciler[T]) addFinalizer(ctx context.Context, c *call[T]) error {
	obj := c.obj
	if err := r.addSecretFinalizer(ctx, c); err != nil {
		return err
	}
	return patch.LockedObject(ctx, r.Client, obj, func() { controllerutil.AddFinalizer(obj, r.Kind.Finalizer) })
}

func (r *Reconciler[T]) removeFinalizer(ctx context.Context, obj T) error {
	if err := r.removeSecretFinalizer(ctx, obj); err != nil {
		return err
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Client, obj, func() {
		controllerutil.RemoveFinalizer(obj, r.Kind.Finalizer)
	}))
}

// removeRequest takes the request off the object if it is still the one that was served. A newer one stays, and the
// event of its arrival calls again. The lock keeps a request that has been set anew meanwhile.
func (r *Reconciler[T]) removeRequest(ctx context.Context, obj T, served Request) error {
	if served.Operation == "" || RequestOf(obj) != served {
		return nil
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Client, obj, func() {
		annotations := obj.GetAnnotations()
		delete(annotations, constants.GardenerOperation)
		obj.SetAnnotations(annotations)
	}))
}

func (r *Reconciler[T]) addSecretFinalizer(ctx context.Context, c *call[T]) error {
	secret, err := r.secret(ctx, c.obj)
	if apierrors.IsNotFound(err) {
		return &actionError{err}
	}
	if err != nil || secret == nil {
		return err
	}
	c.secret = secret
	return patch.LockedObject(ctx, r.Client, secret, func() { controllerutil.AddFinalizer(secret, r.Kind.Finalizer) })
}

type secretKey struct{}

// Secret is that of the object which a reconciliation or a restoration acts on, as it was read for its finalizer. It
// is nil in other actions, and if the kind has none.
func Secret(ctx context.Context) *corev1.Secret {
	secret, _ := ctx.Value(secretKey{}).(*corev1.Secret)
	return secret
}

func (r *Reconciler[T]) removeSecretFinalizer(ctx context.Context, obj T) error {
	secret, err := r.secret(ctx, obj)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || secret == nil {
		return err
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Client, secret, func() {
		controllerutil.RemoveFinalizer(secret, r.Kind.Finalizer)
	}))
}

func (r *Reconciler[T]) secret(ctx context.Context, obj T) (*corev1.Secret, error) {
	if r.Kind.Secret == nil {
		return nil, nil
	}
	ref := r.Kind.Secret(obj)
	if ref == nil || ref.Name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return nil, fmt.Errorf("get the secret of %s %q: %w", r.Kind.Name, obj.GetName(), err)
	}
	return secret, nil
}

// conflict is the answer to a request that has changed while it was looked at: begin again, it is no failure.
func conflict(kind, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: kind}, name, errRequestChanged)
}
