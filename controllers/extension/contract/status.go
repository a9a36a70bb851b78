package contract

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// PatchStatus applies change to the status of obj and sends the difference, if there is one, as a merge patch: fields
// nobody here models, and fields others write meanwhile, survive. A status above the limits of the API server is a
// configuration problem, and the last good status stays (docs/specification/state-size.md#z5).
//
// Actions write with it what must outlast a crash, and Publish the rest. They never change obj in memory alone.
func PatchStatus[T client.Object](ctx context.Context, c client.Client, obj T, change func()) error {
	before := obj.DeepCopyObject()
	err := patch.Status(ctx, c, obj, change)
	if err != nil {
		// Patch leaves obj as change made it; a later patch would take that for written.
		reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(before).Elem())
	}
	if tooLarge(err) {
		return WithCodes(err, gardencorev1beta1.ErrorConfigurationProblem)
	}
	return err
}

func (r *Reconciler[T]) processing(ctx context.Context, obj T, op gardencorev1beta1.LastOperationType,
	description string) error {
	return PatchStatus(ctx, r.Client, obj, func() {
		obj.GetExtensionStatus().SetLastOperation(r.lastOperation(op, gardencorev1beta1.LastOperationStateProcessing, 1,
			description))
	})
}

func (r *Reconciler[T]) failed(ctx context.Context, obj T, op gardencorev1beta1.LastOperationType, generation int64,
	cause error) error {
	return PatchStatus(ctx, r.Client, obj, func() {
		status := obj.GetExtensionStatus()
		description := fmt.Sprintf("Error during %s: %s", phrase(op), cause)
		status.SetLastOperation(r.lastOperation(op, gardencorev1beta1.LastOperationStateError, 50, description))
		now := metav1.NewTime(r.Clock.Now())
		status.SetLastError(&gardencorev1beta1.LastError{Description: description, Codes: Codes(cause), LastUpdateTime: &now})
		status.SetObservedGeneration(generation)
	})
}

func (r *Reconciler[T]) succeeded(ctx context.Context, c *call[T]) error {
	err := PatchStatus(ctx, r.Client, c.obj, func() {
		for _, change := range c.found {
			change()
		}
		status := c.obj.GetExtensionStatus()
		description := fmt.Sprintf("Successfully finished %s.", phrase(c.op))
		status.SetLastOperation(r.lastOperation(c.op, gardencorev1beta1.LastOperationStateSucceeded, 100, description))
		status.SetLastError(nil)
		status.SetObservedGeneration(c.generation)
	})
	if tooLarge(err) {
		return &actionError{err} // it is the results that are
	}
	return err
}

// results are changes of a status, in order.
type results []func()

type resultsKey struct{}

// Publish has what an action has found out written to the status of its object together with its success, in one
// request. It is for what every run finds out anew: an action that ends otherwise has written nothing of it. It panics
// where no Reconciler has called the action.
func Publish(ctx context.Context, change func()) {
	found := ctx.Value(resultsKey{}).(*results)
	*found = append(*found, change)
}

func (r *Reconciler[T]) lastOperation(op gardencorev1beta1.LastOperationType,
	state gardencorev1beta1.LastOperationState, progress int32, description string) *gardencorev1beta1.LastOperation {
	return &gardencorev1beta1.LastOperation{
		Type:           op,
		State:          state,
		Progress:       progress,
		Description:    description,
		LastUpdateTime: metav1.NewTime(r.Clock.Now()),
	}
}

func phrase(op gardencorev1beta1.LastOperationType) string {
	switch op {
	case gardencorev1beta1.LastOperationTypeCreate:
		return "creation"
	case gardencorev1beta1.LastOperationTypeDelete:
		return "deletion"
	case gardencorev1beta1.LastOperationTypeMigrate:
		return "migration"
	case gardencorev1beta1.LastOperationTypeRestore:
		return "restoration"
	}
	return "reconciliation"
}
