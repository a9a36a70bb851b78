// Package overlay changes a Shoot as it is on the wire in the way that it was changed as our types have it. What
// changes is for package maintenance to say.
package overlay

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Apply makes the changes from before to after to the Shoot as it is on the wire: in its annotations and its
// specification. Whatever our types do not have stays, in worker pools too, which a merge patch replaces as one list.
func Apply(wire *unstructured.Unstructured, before, after *gardencorev1beta1.Shoot) (*unstructured.Unstructured,
	error) {
	from, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return nil, fmt.Errorf("encode the shoot as it was: %w", err)
	}
	to, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return nil, fmt.Errorf("encode the shoot as it shall be: %w", err)
	}
	changed := wire.DeepCopy()
	changed.SetAnnotations(after.Annotations)
	changed.Object["spec"] = overlay(changed.Object["spec"], from["spec"], to["spec"])
	return changed, nil
}

// overlay makes the changes from before to after to what is on the wire. Lists of other lengths are replaced.
func overlay(wire, before, after any) any {
	switch to := after.(type) {
	case map[string]any:
		from, was := before.(map[string]any)
		if on, is := wire.(map[string]any); was && is {
			return overlayFields(on, from, to)
		}
	case []any:
		from, was := before.([]any)
		on, is := wire.([]any)
		if was && is && len(from) == len(to) && len(on) == len(to) {
			for i := range to {
				on[i] = overlay(on[i], from[i], to[i])
			}
			return on
		}
	}
	if reflect.DeepEqual(before, after) {
		return wire
	}
	return after
}

func overlayFields(on, from, to map[string]any) map[string]any {
	for name := range from {
		if _, kept := to[name]; !kept {
			delete(on, name)
		}
	}
	for name, value := range to {
		if before, was := from[name]; !was || !reflect.DeepEqual(before, value) {
			on[name] = overlay(on[name], before, value)
		}
	}
	return on
}
