package contract

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Deploy creates or patches an object that belongs to an extension object. Change may be called twice. In the first
// attempt on a seed there is no such object as a rule: it is created without being looked for.
func Deploy[T client.Object](ctx context.Context, c client.Client, by extensionsv1alpha1.Object, object T,
	change func(T)) error {
	if isFirstAttempt(by) {
		made := object.DeepCopyObject().(T)
		change(made)
		err := c.Create(ctx, made)
		if !apierrors.IsAlreadyExists(err) {
			return patch.Describe("create", object, c, err)
		}
	}
	return patch.CreateOrPatch(ctx, c, object, func(T) error { change(object); return nil })
}

// isFirstAttempt says whether an object is worked on for the first time on its seed, and has neither waited nor failed.
func isFirstAttempt(by extensionsv1alpha1.Object) bool {
	last := by.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Description == started(last.Type) &&
		(last.Type == gardencorev1beta1.LastOperationTypeCreate || last.Type == gardencorev1beta1.LastOperationTypeRestore)
}

// started describes an operation that has got no further.
func started(op gardencorev1beta1.LastOperationType) string {
	return fmt.Sprintf("Started %s.", phrase(op))
}
