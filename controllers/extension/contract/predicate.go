package contract

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// ofType passes objects of one provider type and class; an absent class means shoot
// (docs/specification/extensions.md#spec-3-3).
func ofType(providerType string, class extensionsv1alpha1.ExtensionClass) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		obj, ok := o.(extensionsv1alpha1.Object)
		return ok && responsible(obj, providerType, class)
	})
}

func responsible(obj extensionsv1alpha1.Object, providerType string, class extensionsv1alpha1.ExtensionClass) bool {
	spec := obj.GetExtensionSpec()
	have := extensionsv1alpha1.ExtensionClassShoot
	if c := spec.GetExtensionClass(); c != nil {
		have = *c
	}
	return spec.GetExtensionType() == providerType && have == class
}

// mayBeDue passes the events that may make an object due (docs/specification/extensions.md#spec-3-3). It only saves
// work: whether there is anything to do is decided by the reconciler, on the object as the API server has it.
func mayBeDue() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			obj, ok := e.Object.(extensionsv1alpha1.Object)
			return ok && Due(obj)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(extensionsv1alpha1.Object)
			after, okAfter := e.ObjectNew.(extensionsv1alpha1.Object)
			if !okBefore || !okAfter {
				return false
			}
			if before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil {
				return true
			}
			if request := RequestOf(after); requested(request.Operation) {
				// Whoever serves a request sees to it until its outcome is written, and most events are those writes.
				return request.Timestamp == "" || request != RequestOf(before)
			}
			return after.GetDeletionTimestamp() != nil &&
				reflect.DeepEqual(before.GetExtensionStatus(), after.GetExtensionStatus())
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
