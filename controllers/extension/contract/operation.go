package contract

import (
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Request is what the gardenlet asked for, as it stood on the object when it was read
// (docs/specification/extensions.md#spec-3-1). The timestamp distinguishes two equal requests.
type Request struct {
	Operation string
	Timestamp string
}

// RequestOf reads the request from the annotations of an object.
func RequestOf(obj extensionsv1alpha1.Object) Request {
	annotations := obj.GetAnnotations()
	return Request{
		Operation: annotations[constants.GardenerOperation],
		Timestamp: annotations[constants.GardenerTimestamp],
	}
}

// operationType says what an object is due for (docs/specification/extensions.md#spec-3-2, first match wins). A request
// to migrate wins over a deletion, because what is migrated must not be torn down.
func operationType(obj extensionsv1alpha1.Object) gardencorev1beta1.LastOperationType {
	operation := RequestOf(obj).Operation
	last := obj.GetExtensionStatus().GetLastOperation()
	switch {
	case operation == constants.GardenerOperationMigrate:
		return gardencorev1beta1.LastOperationTypeMigrate
	case obj.GetDeletionTimestamp() != nil:
		return gardencorev1beta1.LastOperationTypeDelete
	case operation == constants.GardenerOperationRestore:
		return gardencorev1beta1.LastOperationTypeRestore
	case last == nil:
		return gardencorev1beta1.LastOperationTypeCreate
	case last.State != gardencorev1beta1.LastOperationStateSucceeded && resumes(last.Type):
		return last.Type
	}
	return gardencorev1beta1.LastOperationTypeReconcile
}

func resumes(t gardencorev1beta1.LastOperationType) bool {
	return t == gardencorev1beta1.LastOperationTypeCreate ||
		t == gardencorev1beta1.LastOperationTypeMigrate ||
		t == gardencorev1beta1.LastOperationTypeRestore
}

// Due says whether an object asks for anything: a request, a deletion, or an operation that has not succeeded yet. A
// change of spec or status alone asks for nothing (docs/contract.md#clause-a3).
func Due(obj extensionsv1alpha1.Object) bool {
	operation := RequestOf(obj).Operation
	if operation == constants.GardenerOperationWaitForState {
		return false
	}
	last := obj.GetExtensionStatus().GetLastOperation()
	return requested(operation) || obj.GetDeletionTimestamp() != nil ||
		last == nil || last.State != gardencorev1beta1.LastOperationStateSucceeded
}

func requested(operation string) bool {
	return operation == constants.GardenerOperationReconcile ||
		operation == constants.GardenerOperationMigrate ||
		operation == constants.GardenerOperationRestore
}

// Migrated says whether the last thing done with the object was a successful migration. Such an object belongs to
// another seed: only a migration or a restoration may touch it (docs/specification/extensions.md#spec-3-2-check-4).
func Migrated(obj extensionsv1alpha1.Object) bool {
	last := obj.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate &&
		last.State == gardencorev1beta1.LastOperationStateSucceeded
}
