package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const (
	finalizer  = "extensions.gardener.cloud/acme"
	annotation = "gardener.cloud/operation"
)

// actuator is what is done for the objects of one kind. After a crash it is called again, and has to end as without
// one.
type actuator[T extensionsv1alpha1.Object] interface {
	ofType() string
	// ensure makes what is not in the state yet, which keep writes.
	ensure(ctx context.Context, obj T, state *runtime.RawExtension, keep func(change func()) error) error
	// migrate gives up what is on this seed, and nothing else.
	migrate(ctx context.Context, obj T) error
	remove(ctx context.Context, obj T) error
}

// reconciler implements the contract of extensions for one kind.
type reconciler[T extensionsv1alpha1.Object] struct {
	client.Client
	actuator[T]
	empty     func() T
	forgetful bool
}

func add[T extensionsv1alpha1.Object](mgr manager.Manager, empty func() T, a actuator[T]) error {
	r := &reconciler[T]{Client: mgr.GetClient(), actuator: a, empty: empty, forgetful: os.Getenv("FORGETFUL") == "true"}
	if err := ctrl.NewControllerManagedBy(mgr).For(empty()).Complete(r); err != nil {
		return fmt.Errorf("add the controller of %T: %w", empty(), err)
	}
	return nil
}

// Reconcile does what the object is due for.
func (r *reconciler[T]) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	obj := r.empty()
	if err := r.Get(ctx, request.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	last, operation := obj.GetExtensionStatus().GetLastOperation(), obj.GetAnnotations()[annotation]
	done := last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
	migrated := done && last.Type == gardencorev1beta1.LastOperationTypeMigrate
	switch {
	case obj.GetExtensionSpec().GetExtensionType() != r.ofType() || operation == "wait-for-state":
		return ctrl.Result{}, nil
	case operation == "migrate":
		return ctrl.Result{}, r.release(ctx, obj)
	case migrated && obj.GetDeletionTimestamp() == nil && operation != "restore":
		return ctrl.Result{}, nil // it is another seed's
	case obj.GetDeletionTimestamp() != nil:
		return ctrl.Result{}, r.delete(ctx, obj, migrated)
	case operation == "restore":
		return ctrl.Result{}, r.reconcile(ctx, obj, gardencorev1beta1.LastOperationTypeRestore)
	case last == nil:
		return ctrl.Result{}, r.reconcile(ctx, obj, gardencorev1beta1.LastOperationTypeCreate)
	case operation == "reconcile":
		return ctrl.Result{}, r.reconcile(ctx, obj, gardencorev1beta1.LastOperationTypeReconcile)
	case !done:
		return ctrl.Result{}, r.reconcile(ctx, obj, last.Type)
	}
	return ctrl.Result{}, nil
}

// reconcile also restores: all that a restore wants besides is the state, which the gardenlet has brought.
func (r *reconciler[T]) reconcile(ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType) error {
	if controllerutil.AddFinalizer(obj, finalizer) {
		if err := r.Update(ctx, obj); err != nil {
			return fmt.Errorf("add the finalizer: %w", err)
		}
	}
	restores := operation == gardencorev1beta1.LastOperationTypeRestore
	state := obj.GetExtensionStatus().GetState()
	if r.forgetful && restores {
		state = nil
	}
	if err := r.ensure(ctx, obj, state, func(change func()) error {
		return r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateProcessing, change)
	}); err != nil {
		return err
	}
	if restores {
		// The request goes last: a crash before restores again.
		if err := r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateSucceeded, func() {}); err != nil {
			return err
		}
		return r.answer(ctx, obj)
	}
	if err := r.answer(ctx, obj); err != nil {
		return err
	}
	return r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateSucceeded, func() {})
}

func (r *reconciler[T]) release(ctx context.Context, obj T) error {
	if err := r.migrate(ctx, obj); err != nil {
		return err
	}
	if err := r.status(ctx, obj, gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationStateSucceeded,
		func() {}); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(obj, finalizer)
	return r.answer(ctx, obj)
}

func (r *reconciler[T]) delete(ctx context.Context, obj T, migrated bool) error {
	if !migrated {
		if err := r.remove(ctx, obj); err != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(obj, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Update(ctx, obj))
}

// status writes what was done, and what change changes besides.
func (r *reconciler[T]) status(
	ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType, result gardencorev1beta1.LastOperationState,
	change func(),
) error {
	before, status, progress := obj.DeepCopyObject().(client.Object), obj.GetExtensionStatus(), int32(100)
	if result == gardencorev1beta1.LastOperationStateProcessing {
		progress = 50
	}
	status.SetLastOperation(&gardencorev1beta1.LastOperation{
		Type: operation, State: result, Progress: progress, LastUpdateTime: metav1.Now(), Description: string(operation) +
			" by acme",
	})
	status.SetObservedGeneration(obj.GetGeneration())
	status.SetLastError(nil)
	change()
	if err := r.Status().Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// answer takes the request off, with whatever else has changed in the metadata.
func (r *reconciler[T]) answer(ctx context.Context, obj T) error {
	annotations := obj.GetAnnotations()
	delete(annotations, annotation)
	obj.SetAnnotations(annotations)
	if err := r.Update(ctx, obj); err != nil {
		return fmt.Errorf("take the request off: %w", err)
	}
	return nil
}

// read a document of ours; there may be none.
func read(raw *runtime.RawExtension, into any) error {
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	return nil
}

func write(document any) (*runtime.RawExtension, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return &runtime.RawExtension{Raw: content}, nil
}
