package machine

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// patch sends what change changes of an object, if anything, with the resource version that it was read with: lists
// such as finalizers are replaced as a whole.
func patch[T client.Object](ctx context.Context, c client.Client, obj T, change func()) error {
	before, ok := obj.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("copy %T: the copy is of another type", obj)
	}
	change()
	plain := client.MergeFrom(before)
	if data, err := plain.Data(obj); err != nil || string(data) == "{}" {
		return err
	}
	if err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch %T %q: %w", obj, obj.GetName(), err)
	}
	return nil
}

// patchStatus does the same with the status, of which there is one writer.
func patchStatus[T client.Object](ctx context.Context, c client.Client, obj T, change func()) error {
	before, ok := obj.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("copy %T: the copy is of another type", obj)
	}
	change()
	p := client.MergeFrom(before)
	if data, err := p.Data(obj); err != nil || string(data) == "{}" {
		return err
	}
	if err := c.Status().Patch(ctx, obj, p); err != nil {
		return fmt.Errorf("patch the status of %T %q: %w", obj, obj.GetName(), err)
	}
	return nil
}

// hold keeps an object from going before the controller has released it.
func hold[T client.Object](ctx context.Context, c client.Client, obj T) error {
	return patch(ctx, c, obj, func() { controllerutil.AddFinalizer(obj, constants.FinalizerMachineControllerManager) })
}

func hasFinalizer(obj client.Object) bool {
	return controllerutil.ContainsFinalizer(obj, constants.FinalizerMachineControllerManager)
}

// removeFinalizers removes the controller's finalizers, also the older one that a restored object may carry.
func removeFinalizers[T client.Object](ctx context.Context, c client.Client, obj T) error {
	return client.IgnoreNotFound(patch(ctx, c, obj, func() {
		controllerutil.RemoveFinalizer(obj, constants.FinalizerMachineControllerManager)
		controllerutil.RemoveFinalizer(obj, constants.FinalizerMachineController)
	}))
}
