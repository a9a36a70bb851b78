package shootrules

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// deletes reports whether a shoot is to be deleted that is not being deleted yet.
func (r *Request) deletes() bool {
	return r.Shoot == nil && r.Old != nil && r.Old.DeletionTimestamp == nil
}

// deletionConfirmed guards against deletion by accident.
func deletionConfirmed(r *Request, _ *garden) field.ErrorList {
	if !r.deletes() || r.Old.Annotations[constants.ConfirmationDeletion] == constants.LabelTrue {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(constants.ConfirmationDeletion)
	return field.ErrorList{field.Required(path, fmt.Sprintf("must be %q before the shoot can be deleted",
		constants.LabelTrue))}
}

// deletionNotWhileMoving keeps the shoot until one seed has all that deletion needs.
func deletionNotWhileMoving(r *Request, _ *garden) field.ErrorList {
	if !r.deletes() || !inHandOver(r.Old) {
		return nil
	}
	why := "the shoot must not be deleted while its control plane is being moved: " + operationOf(r.Old)
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "deletionTimestamp"), why)}
}

// deletionNotInForeground keeps the ShootState until the flow deletes it. It blocks the deletion of its owner, so that
// the garbage collector would delete it first: a seed that is lost meanwhile could not be replaced. A shoot that is in
// deletion already could still be turned into such a one.
func deletionNotInForeground(r *Request, _ *garden) field.ErrorList {
	foreground := ptr.Deref(r.deletion.PropagationPolicy, "") == metav1.DeletePropagationForeground
	if r.Shoot != nil || r.Old == nil || !foreground {
		return nil
	}
	why := "the shoot must be deleted in the background, for example with kubectl delete --cascade=background: " +
		"its ShootState would go before it"
	return field.ErrorList{field.Forbidden(field.NewPath("propagationPolicy"), why)}
}
