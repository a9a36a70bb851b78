// Package review reads what the API server asks a webhook, and answers it in the style of the Kubernetes API: field
// path, value, what would be allowed. It has no rules of its own; those about values are package validation's.
package review

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/controllers/validation/ratchet"
)

// Object is an object that is created or updated, of a kind of the garden.
type Object[T client.Object] struct {
	// Object and Old have their defaults. Old counts only if Update is set.
	Object, Old T
	// Wire and OldWire are as on the wire, with fields that the type does not have.
	Wire, OldWire map[string]any
	// Update is whether there was such an object before.
	Update bool
}

// Read reads an object that is created or updated; nil for one that is deleted.
func Read[T client.Object](raw *admissionv1.AdmissionRequest, empty func() T) (*Object[T], error) {
	if raw.Operation == admissionv1.Delete {
		return nil, nil
	}
	w := &Object[T]{Update: raw.Operation == admissionv1.Update}
	var err error
	if w.Object, w.Wire, err = decodeAs(raw.Object, empty); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	if w.Old, w.OldWire, err = decodeAs(raw.OldObject, empty); err != nil {
		return nil, fmt.Errorf("decode the old object: %w", err)
	}
	return w, nil
}

func decodeAs[T client.Object](raw runtime.RawExtension, empty func() T) (T, map[string]any, error) {
	object, wire := empty(), map[string]any{}
	if len(raw.Raw) == 0 {
		return object, wire, nil
	}
	if err := json.Unmarshal(raw.Raw, object); err != nil {
		return object, nil, err
	}
	if lacking, is := any(object).(interface{ SetDefaults() }); is { // one that was written before there were defaults
		lacking.SetDefaults()
	}
	return object, wire, json.Unmarshal(raw.Raw, &wire)
}

// Judge returns the errors of a new object. Of an update it returns the changes that are impossible, or else the errors
// that the old object did not have. For an object in deletion only impossible changes are errors: nothing may block the
// deletion.
func (w *Object[T]) Judge(change func(object, old T) field.ErrorList, valid func(T) field.ErrorList) field.ErrorList {
	if !w.Update {
		return valid(w.Object)
	}
	errs := change(w.Object, w.Old)
	if len(errs) > 0 || w.Old.GetDeletionTimestamp() != nil {
		return errs
	}
	return ratchet.Added(valid(w.Object), valid(w.Old), w.Wire, w.OldWire)
}
