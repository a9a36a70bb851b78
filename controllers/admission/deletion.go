package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// deletes tells that a shoot is to be deleted that is not being deleted yet.
func (r *request) deletes() bool {
	return r.shoot == nil && r.old != nil && r.old.DeletionTimestamp == nil
}

// deletionConfirmed guards against deletion by accident.
func deletionConfirmed(r *request, _ *garden) field.ErrorList {
	if !r.deletes() || r.old.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(constants.ConfirmationDeletion)
	return field.ErrorList{field.Required(path, fmt.Sprintf("must be %q before the shoot can be deleted", constants.LabelTrue))}
}

// deletionNotWhileMoving keeps the shoot until one seed has all that deletion needs.
func deletionNotWhileMoving(r *request, _ *garden) field.ErrorList {
	if !r.deletes() || !inHandOver(r.old) {
		return nil
	}
	why := "the shoot must not be deleted while its control plane is being moved: " + operationOf(r.old)
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "deletionTimestamp"), why)}
}
