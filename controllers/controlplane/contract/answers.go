package contract

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

// Ready is the list of docs/specification/extensions.md#spec-3-5: nil when the extension has done what was asked, else
// the first thing that is amiss.
func Ready(object extensionsv1alpha1.Object) error {
	status := object.GetExtensionStatus()
	if lastError := status.GetLastError(); lastError != nil {
		return &errorcodes.Error{Message: "error during reconciliation: " + lastError.Description, Codes: lastError.Codes}
	}
	if status.GetObservedGeneration() != object.GetGeneration() {
		return fmt.Errorf("observed generation %d is outdated, want %d", status.GetObservedGeneration(),
			object.GetGeneration())
	}
	if operation := object.GetAnnotations()[constants.GardenerOperation]; operation != "" {
		return fmt.Errorf("operation %q is not yet picked up", operation)
	}
	last := status.GetLastOperation()
	if last == nil {
		return errors.New("no last operation is recorded yet")
	}
	if last.State != gardencorev1beta1.LastOperationStateSucceeded {
		return fmt.Errorf("state is not Succeeded but %s: %s", last.State, last.Description)
	}
	return upToDate(object, last)
}

// upToDate returns an error if the last operation ended before the last request.
func upToDate(object client.Object, last *gardencorev1beta1.LastOperation) error {
	asked, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[constants.GardenerTimestamp])
	if err != nil {
		return nil //nolint:nilerr // an object nobody stamped has no request to wait for
	}
	if asked.Truncate(time.Second).After(last.LastUpdateTime.Time) {
		return fmt.Errorf("the request of %s is not answered, last update %s", asked.Format(time.RFC3339),
			last.LastUpdateTime.Format(time.RFC3339))
	}
	return nil
}

// Restored reports whether the extension has restored the object, with nothing left to do.
func Restored(object extensionsv1alpha1.Object) bool {
	last := object.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeRestore &&
		last.State == gardencorev1beta1.LastOperationStateSucceeded &&
		object.GetAnnotations()[constants.GardenerOperation] == ""
}

// Migrated is nil when the extension has released the object, after the last request and with nothing left to do.
func Migrated(object extensionsv1alpha1.Object) error {
	last := object.GetExtensionStatus().GetLastOperation()
	if last == nil || last.Type != gardencorev1beta1.LastOperationTypeMigrate ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded {
		if lastError := object.GetExtensionStatus().GetLastError(); lastError != nil {
			return &errorcodes.Error{Message: "error during migration: " + lastError.Description, Codes: lastError.Codes}
		}
		return errors.New("last operation is not Migrate/Succeeded")
	}
	if object.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationMigrate {
		return errors.New("the migrate annotation is still there")
	}
	return upToDate(object, last)
}
