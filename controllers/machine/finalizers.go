package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// hold keeps an object from going before the controller has released it.
func hold[T client.Object](ctx context.Context, c client.Client, obj T) error {
	return patch.LockedObject(ctx, c, obj, func() {
		controllerutil.AddFinalizer(obj, constants.FinalizerMachineControllerManager)
	})
}

func hasFinalizer(obj client.Object) bool {
	return controllerutil.ContainsFinalizer(obj, constants.FinalizerMachineControllerManager)
}

// removeFinalizers removes the controller's finalizers, also the older one that a restored object may carry.
func removeFinalizers[T client.Object](ctx context.Context, c client.Client, obj T) error {
	return client.IgnoreNotFound(patch.LockedObject(ctx, c, obj, func() {
		controllerutil.RemoveFinalizer(obj, constants.FinalizerMachineControllerManager)
		controllerutil.RemoveFinalizer(obj, constants.FinalizerMachineController)
	}))
}
