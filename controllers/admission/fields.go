package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/validation"
	"github.com/transplant-sim/transplant/controllers/validation/fields"
)

// fieldsValid refuses values that no controller can act on, and changes that no controller can apply.
func fieldsValid(r *request, g *garden) field.ErrorList {
	if r.shoot == nil {
		return nil
	}
	w := &written[*gardencorev1beta1.Shoot]{object: r.shoot, old: r.old, wire: r.wire, oldWire: r.oldWire,
		update: r.old != nil}
	around := validation.Surroundings{Project: g.project, Profile: g.profile}
	if w.update {
		around.Project = "" // the name cannot change
	}
	return w.judge(validation.ShootChange,
		func(shoot *gardencorev1beta1.Shoot) field.ErrorList { return validation.Shoot(shoot, around) })
}

// written is an object that is created or updated.
type written[T client.Object] struct {
	object, old   T
	wire, oldWire map[string]any
	update        bool
}

// read reads an object that is created or updated; nil for one that is deleted.
func read[T client.Object](raw *admissionv1.AdmissionRequest, empty func() T) (*written[T], error) {
	if raw.Operation == admissionv1.Delete {
		return nil, nil
	}
	w := &written[T]{update: raw.Operation == admissionv1.Update}
	var err error
	if w.object, w.wire, err = decodeAs(raw.Object, empty); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	if w.old, w.oldWire, err = decodeAs(raw.OldObject, empty); err != nil {
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

// judge returns the errors of a new object. Of an update it returns the changes that are impossible, or else the errors
// that the old object did not have. For an object in deletion only impossible changes are errors: nothing may block the
// deletion.
func (w *written[T]) judge(change func(object, old T) field.ErrorList, valid func(T) field.ErrorList) field.ErrorList {
	if !w.update {
		return valid(w.object)
	}
	errs := change(w.object, w.old)
	if len(errs) > 0 || w.old.GetDeletionTimestamp() != nil {
		return errs
	}
	return validation.Added(valid(w.object), valid(w.old), w.wire, w.oldWire)
}

// answer says no with the errors, or yes.
func answer(raw *admissionv1.AdmissionRequest, errs field.ErrorList) admission.Response {
	if len(errs) > 0 {
		return refuse(raw, errs)
	}
	return admission.Allowed("")
}

// warnings are those for what is created or updated. They are for what clients have written themselves, so they are
// given before defaults are filled in. What cannot be read is refused.
func warnings(raw *admissionv1.AdmissionRequest) []string {
	empty := map[string]func() any{
		"Shoot":        func() any { return &gardencorev1beta1.Shoot{} },
		"CloudProfile": func() any { return &gardencorev1beta1.CloudProfile{} },
		"Seed":         func() any { return &gardencorev1beta1.Seed{} },
		"Project":      func() any { return &gardencorev1beta1.Project{} },
	}[raw.Kind.Kind]
	var object, old map[string]any
	if empty == nil || len(raw.Object.Raw) == 0 || json.Unmarshal(raw.Object.Raw, &object) != nil {
		return nil
	}
	if len(raw.OldObject.Raw) > 0 && json.Unmarshal(raw.OldObject.Raw, &old) != nil {
		return nil
	}
	return append(fields.Warnings(raw.Kind.Kind, object, old),
		fields.Unknown(raw.Object.Raw, raw.OldObject.Raw, empty)...)
}
