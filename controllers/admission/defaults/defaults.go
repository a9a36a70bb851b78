// Package defaults fills in what Gardener's API server would (docs/defaults.md), in objects of the garden as they are
// on the wire. The values are those of package v1beta1; what depends on other objects is not filled in here.
package defaults

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// defaulted are the kinds of the garden that have defaults.
var defaulted = map[string]func() gardencorev1beta1.Defaulted{
	"CloudProfile": func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.CloudProfile{} },
	"Project":      func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Project{} },
	"Seed":         func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Seed{} },
	"Shoot":        func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Shoot{} },
}

// Set fills in, in an object of the garden as it is on the wire, what an object of its kind has by default.
// Fields that our types do not have survive, and kinds without defaults stay as they are.
func Set(kind string, wire map[string]any) error {
	empty, has := defaulted[kind]
	if !has {
		return nil
	}
	object := empty()
	content, err := json.Marshal(wire)
	if err != nil {
		return fmt.Errorf("encode the %s: %w", kind, err)
	}
	if err := json.Unmarshal(content, object); err != nil {
		return fmt.Errorf("decode the %s: %w", kind, err)
	}
	before, errBefore := wireOf(object)
	object.SetDefaults()
	after, errAfter := wireOf(object)
	if err := errors.Join(errBefore, errAfter); err != nil {
		return fmt.Errorf("encode the %s with its defaults: %w", kind, err)
	}
	fillObject(wire, before, after)
	return nil
}

func wireOf(object any) (map[string]any, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	wire := map[string]any{}
	return wire, json.Unmarshal(content, &wire)
}

// fillObject brings what a change has added to an object into another form of it, which may have further fields.
func fillObject(wire, before, after map[string]any) {
	for key, value := range after {
		if !reflect.DeepEqual(before[key], value) {
			wire[key] = fill(wire[key], before[key], value)
		}
	}
}

func fill(wire, before, after any) any {
	switch after := after.(type) {
	case map[string]any:
		fields, _ := wire.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		old, _ := before.(map[string]any)
		fillObject(fields, old, after)
		return fields
	case []any:
		items, _ := wire.([]any)
		old, _ := before.([]any)
		if len(items) != len(old) || len(after) < len(old) {
			return after
		}
		for i, value := range after[:len(old)] {
			if !reflect.DeepEqual(old[i], value) {
				items[i] = fill(items[i], old[i], value)
			}
		}
		return append(items, after[len(old):]...)
	}
	return after
}
